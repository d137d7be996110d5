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

-- name: blocking_edges
-- Edges that hold their task up now. `any-children` is satisfied by the first closed child.
SELECT d.task_id, d.depends_on_id, d.type FROM dependencies d
JOIN tasks waiting ON waiting.id = d.task_id AND waiting.status NOT IN ('closed', 'pinned')
JOIN tasks target ON target.id = d.depends_on_id
WHERE (d.type IN ('blocks', 'conditional-blocks') AND target.status NOT IN ('closed', 'pinned'))
   OR (d.type = 'waits-for' AND {children_outstanding})
ORDER BY d.task_id, d.depends_on_id

-- name: blocking_edges_of
SELECT d.depends_on_id, d.type FROM dependencies d
JOIN tasks target ON target.id = d.depends_on_id
WHERE d.task_id = :id AND (
      (d.type IN ('blocks', 'conditional-blocks') AND target.status NOT IN ('closed', 'pinned'))
   OR (d.type = 'waits-for' AND {children_outstanding}))
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
