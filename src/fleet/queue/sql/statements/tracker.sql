-- What the bd commands ask of a queue beyond claim and settle. `:name` is a value, `{name}` another
-- entry of this file or of queue.sql, `$` a list of values.

-- Changes that a person or an agent asks for. Each runs inside one transaction.

-- name: take
-- Read a task and hold it until the transaction ends: on both engines an update does that.
UPDATE tasks SET fence = fence WHERE id = :id RETURNING {task_columns}

-- name: save
UPDATE tasks SET {own_changes} WHERE id = :id

-- name: delete_label
DELETE FROM labels WHERE task_id = :id AND label = :label

-- name: delete_parents
DELETE FROM dependencies WHERE task_id = :id AND type = 'parent-child'

-- name: sleepers
SELECT 1 FROM tasks WHERE {not_closed} AND status = 'deferred' AND defer_until <= :now LIMIT 1

-- name: wake
UPDATE tasks SET status = 'open', defer_until = NULL, updated_at = :now
WHERE {not_closed} AND status = 'deferred' AND defer_until <= :now

-- Comments and memories.

-- name: insert_comment
INSERT INTO comments (id, task_id, author, text, created_at)
VALUES (:comment_id, :id, :author, :text, :now)
ON CONFLICT (id) DO NOTHING

-- name: memories
SELECT key, value FROM memories ORDER BY key

-- name: memory
SELECT value FROM memories WHERE key = :key

-- name: set_memory
INSERT INTO memories (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: delete_memory
DELETE FROM memories WHERE key = :key RETURNING value

-- name: named_values
SELECT key, value FROM meta WHERE substr(key, 1, length(CAST(:prefix AS TEXT))) = :prefix
ORDER BY key

-- name: delete_named_value
DELETE FROM meta WHERE key = :key

-- Dependencies: which task waits for which, and whose child it is.

-- name: edge_type
SELECT type FROM dependencies WHERE task_id = :id AND depends_on_id = :depends_on

-- name: insert_dependency
INSERT INTO dependencies (task_id, depends_on_id, type, created_at, created_by, metadata, thread_id)
VALUES (:id, :depends_on, :type, :now, :actor, :metadata, :thread_id)
ON CONFLICT DO NOTHING
RETURNING task_id

-- name: delete_dependency
DELETE FROM dependencies WHERE task_id = :id AND depends_on_id = :depends_on
RETURNING type

-- name: reaches
-- Does a chain of waiting already lead from :from to :to? A child waits for what holds its parent.
WITH RECURSIVE chain (id) AS (
    SELECT d.depends_on_id FROM dependencies d
    WHERE d.task_id = :from AND d.type IN ('blocks', 'conditional-blocks', 'parent-child')
    UNION
    SELECT d.depends_on_id FROM chain CROSS JOIN dependencies d
    WHERE d.task_id = chain.id AND d.type IN ('blocks', 'conditional-blocks', 'parent-child')
)
SELECT 1 FROM chain WHERE id = :to

-- name: descends
-- Is :id a child, or a child's child, of :ancestor?
WITH RECURSIVE line (id) AS (
    SELECT d.depends_on_id FROM dependencies d WHERE d.task_id = :id AND d.type = 'parent-child'
    UNION
    SELECT d.depends_on_id FROM line CROSS JOIN dependencies d
    WHERE d.task_id = line.id AND d.type = 'parent-child'
)
SELECT 1 FROM line WHERE id = :ancestor

-- name: targets
SELECT {task_columns}, d.type FROM dependencies d JOIN tasks ON tasks.id = d.depends_on_id
WHERE d.task_id = :id ORDER BY tasks.id

-- name: dependents
SELECT {task_columns}, d.type FROM dependencies d JOIN tasks ON tasks.id = d.task_id
WHERE d.depends_on_id = :id ORDER BY tasks.id

-- name: waiting_edges
-- The edges that a cycle could be made of.
SELECT d.task_id, d.depends_on_id FROM dependencies d
WHERE d.type IN ('blocks', 'conditional-blocks', 'parent-child')
ORDER BY d.task_id, d.depends_on_id

-- name: epics
-- Open epics that have children, and how many of those there are and are closed.
SELECT {task_columns}, counts.children, counts.closed FROM tasks JOIN (
    SELECT d.depends_on_id AS id, count(*) AS children,
           sum(CASE WHEN child.status = 'closed' THEN 1 ELSE 0 END) AS closed
    FROM dependencies d JOIN tasks child ON child.id = d.task_id
    WHERE d.type = 'parent-child' GROUP BY d.depends_on_id
) counts ON counts.id = tasks.id
WHERE tasks.issue_type = 'epic' AND {not_closed}
{queue_order}

-- What stands around tasks, for many of them at once. `$` is the list of ids.

-- name: edges_from
SELECT d.task_id, d.depends_on_id, d.type, d.created_at, d.created_by, d.metadata, d.thread_id
FROM dependencies d WHERE d.task_id IN ($)
ORDER BY d.task_id, d.depends_on_id

-- name: edges_to
SELECT d.task_id, d.depends_on_id, d.type, d.created_at, d.created_by, d.metadata, d.thread_id
FROM dependencies d WHERE d.depends_on_id IN ($)
ORDER BY d.depends_on_id, d.task_id

-- name: tally
SELECT t.id,
    (SELECT count(*) FROM dependencies d WHERE d.task_id = t.id AND d.type = 'blocks'),
    (SELECT count(*) FROM dependencies d WHERE d.depends_on_id = t.id AND d.type = 'blocks'),
    (SELECT count(*) FROM comments c WHERE c.task_id = t.id)
FROM tasks t WHERE t.id IN ($)

-- name: tasks_of
SELECT {task_columns} FROM tasks WHERE tasks.id IN ($)

-- name: comments_of
SELECT c.id, c.task_id, c.author, c.text, c.created_at FROM comments c
WHERE c.task_id IN ($) ORDER BY c.created_at, c.id

-- name: holds_up
-- The edge holds its task up now. `any-children` is satisfied by the first closed child.
((d.type IN ('blocks', 'conditional-blocks') AND {holds_others})
 OR (d.type = 'waits-for' AND {children_outstanding}))

-- name: blocking_edges
SELECT d.task_id, d.depends_on_id, d.type FROM dependencies d
JOIN tasks waiting ON waiting.id = d.task_id AND waiting.status NOT IN ('closed', 'pinned')
JOIN tasks target ON target.id = d.depends_on_id
WHERE {holds_up}
ORDER BY d.task_id, d.depends_on_id

-- name: blocking_edges_of
SELECT d.depends_on_id, d.type FROM dependencies d
JOIN tasks target ON target.id = d.depends_on_id
WHERE d.task_id = :id AND {holds_up}
ORDER BY d.depends_on_id

-- name: open_children
SELECT d.depends_on_id, d.task_id FROM dependencies d
JOIN tasks child ON child.id = d.task_id
WHERE d.type = 'parent-child' AND child.status NOT IN ('closed', 'pinned')

-- name: open_child_count
SELECT count(*) FROM dependencies d JOIN tasks child ON child.id = d.task_id
WHERE d.depends_on_id = :id AND d.type = 'parent-child' AND child.status <> 'closed'

-- name: freed_by
-- Open tasks that waited for one of these and now wait for nothing.
SELECT {task_columns} FROM tasks
WHERE tasks.status = 'open' AND tasks.id IN (
    SELECT d.task_id FROM dependencies d WHERE d.type = 'blocks' AND d.depends_on_id IN ($)
) AND NOT {held_up}
ORDER BY tasks.priority, tasks.created_at, tasks.id

-- Conditions and orders of the searches. Each condition is about one row of `tasks`; `$` stands for its values.

-- name: ids_starting
SELECT id FROM tasks
WHERE substr(id, 1, length(CAST(:bare AS TEXT))) = :bare
   OR substr(id, 1, length(CAST(:prefixed AS TEXT))) = :prefixed
ORDER BY id LIMIT 100

-- name: unblocked
NOT {held_up}

-- name: has_label
EXISTS (SELECT 1 FROM labels l WHERE l.task_id = tasks.id AND l.label IN ($))

-- name: unlabelled
NOT EXISTS (SELECT 1 FROM labels l WHERE l.task_id = tasks.id)

-- name: child_of
EXISTS (SELECT 1 FROM dependencies up WHERE up.task_id = tasks.id
        AND up.type = 'parent-child' AND up.depends_on_id = $)

-- name: top_level
NOT EXISTS (SELECT 1 FROM dependencies up WHERE up.task_id = tasks.id AND up.type = 'parent-child')

-- name: below
tasks.id IN (
    WITH RECURSIVE family (id) AS (
        SELECT down.task_id FROM dependencies down
        WHERE down.depends_on_id = $ AND down.type = 'parent-child'
        UNION
        SELECT down.task_id FROM family JOIN dependencies down ON down.depends_on_id = family.id
        WHERE down.type = 'parent-child'
    )
    SELECT id FROM family
)

-- name: by_hybrid
-- Young tasks by priority, then the old ones by age, so that nothing waits for ever.
CASE WHEN tasks.created_at >= :recent THEN 0 ELSE 1 END,
CASE WHEN tasks.created_at >= :recent THEN tasks.priority ELSE 0 END,
tasks.created_at, tasks.id

-- How much of what there is.

-- name: by_status_of
SELECT status, count(*) FROM tasks WHERE assignee = :assignee GROUP BY status

-- name: unfinished
SELECT id, status, assignee FROM tasks WHERE {not_closed}

-- name: lead_time
SELECT coalesce(avg(closed_at - created_at), 0) FROM tasks WHERE status = 'closed'

-- Taking tasks out of the queue for good.

-- name: delete_task
DELETE FROM tasks WHERE id = :id

-- name: set_texts
UPDATE tasks SET description = :description, design = :design, notes = :notes,
    acceptance_criteria = :acceptance_criteria, updated_at = :now
WHERE id = :id

-- Bringing tasks in from another tracker, and giving all of them out.

-- name: all_ids
SELECT id FROM tasks ORDER BY priority, created_at DESC, id

-- name: open_titles
SELECT title FROM tasks WHERE {not_closed}

-- name: comment_owner
SELECT task_id FROM comments WHERE id = :id

-- name: count_child
UPDATE tasks SET last_child = :number WHERE id = :id AND last_child < :number
