-- Statements of the Queue verbs. `:name` is a value, `{name}` another entry of this folder.

-- name: task_columns
{all_columns},
(SELECT string_agg(l.label, '
') FROM labels l WHERE l.task_id = tasks.id)

-- name: held_up
-- True while the task, or any of its ancestors, waits for another task or is put off. Most tasks
-- depend on nothing, so that is looked at first; its OFFSET keeps PostgreSQL from hashing every
-- dependency there ever was.
(EXISTS (SELECT 1 FROM dependencies own WHERE own.task_id = tasks.id LIMIT 1 OFFSET 0)
 AND {waits_for_others})

-- name: holds_others
-- Work that is on the line of its branch (the kind `OnLine`) holds up no other.
(target.status NOT IN ('closed', 'pinned') AND substr(target.waits, 2, 13) <> '"kind":"line"')

-- name: unmet_dependency
-- CROSS JOIN makes SQLite join in the written order.
EXISTS (
    WITH RECURSIVE line (id) AS (
        SELECT tasks.id
        UNION
        SELECT up.depends_on_id FROM line CROSS JOIN dependencies up
        WHERE up.task_id = line.id AND up.type = 'parent-child'
    )
    SELECT 1 FROM line
    CROSS JOIN dependencies d
    CROSS JOIN tasks target
    WHERE d.task_id = line.id AND target.id = d.depends_on_id AND (
          (d.type IN ('blocks', 'conditional-blocks') AND {holds_others})
       OR (d.type = 'parent-child' AND target.defer_until > :now)
       OR (d.type = 'waits-for' AND {children_outstanding}))
)

-- name: children_outstanding
-- `any-children` opens with the first closed child, the default gate with the last.
EXISTS (
    SELECT 1 FROM dependencies c JOIN tasks child ON child.id = c.task_id
    WHERE c.depends_on_id = d.depends_on_id AND c.type = 'parent-child' AND child.status <> 'closed'
) AND NOT (d.metadata LIKE '%any-children%' AND EXISTS (
    SELECT 1 FROM dependencies c JOIN tasks child ON child.id = c.task_id
    WHERE c.depends_on_id = d.depends_on_id AND c.type = 'parent-child' AND child.status = 'closed'
))

-- name: due_work
-- A dated deferral ends by itself.
{not_closed}
AND (tasks.status = 'open' OR (tasks.status = 'deferred' AND tasks.defer_until <= :now))
AND (tasks.defer_until IS NULL OR tasks.defer_until <= :now)

-- name: ready
{due_work}
AND {is_work}
AND NOT {held_up}

-- name: claimable
-- CASE, so that no planner takes the statuses apart and sorts instead of walking `tasks_waiting`.
-- Only a task in progress can have a lease that has ended.
{not_closed}
AND CASE tasks.status
        WHEN 'open' THEN (tasks.assignee = '' OR tasks.assignee = :owner)
        WHEN 'deferred' THEN
            tasks.defer_until <= :now AND (tasks.assignee = '' OR tasks.assignee = :owner)
        ELSE tasks.lease_until <= :now
    END
AND (tasks.defer_until IS NULL OR tasks.defer_until <= :now)
AND (tasks.not_before IS NULL OR tasks.not_before <= :now)
AND tasks.issue_type <> 'epic'
AND {is_work}
AND {fits_host}
AND NOT {held_up}

-- name: picked
-- `+ 0`, since SQLite plans a bare `LIMIT :count` anew each time it is given a value.
SELECT tasks.id FROM tasks {by_queue_order} WHERE {claimable}
{queue_order} LIMIT :count + 0
{skip_locked}

-- name: lease
UPDATE tasks
SET status = 'in_progress', assignee = :owner, lease_owner = :owner, lease_until = :until,
    heartbeat_at = :now, fence = fence + 1, runs = runs + 1, started_at = coalesce(started_at, :now),
    updated_at = :now, not_before = NULL, defer_until = NULL, waits = ''

-- name: claim
{lease}
WHERE {is_picked}
RETURNING {task_columns}

-- name: claim_one
-- A single id needs no table of ids, which costs SQLite more than the search.
{lease}
WHERE id = ({picked})
RETURNING {task_columns}

-- name: renew
UPDATE tasks SET lease_until = :until, heartbeat_at = :now
WHERE id = :id AND lease_owner = :owner AND fence = :fence

-- name: settle
UPDATE tasks
SET status = :status, assignee = :assignee, lease_owner = NULL, lease_until = NULL,
    closed_at = :closed_at, close_reason = :close_reason, not_before = :not_before,
    runs = :runs, attempts = :attempts, last_host = :last_host, waits = :waits,
    notes = CASE WHEN :note = '' THEN notes
                 WHEN notes = '' THEN :note
                 ELSE notes || :new_line || :note END,
    updated_at = :now
WHERE id = :id AND lease_owner = :owner AND fence = :fence

-- name: insert_decline
INSERT INTO declines (task_id, host, why, at) VALUES (:id, :owner, :why, :now)
ON CONFLICT (task_id, host) DO UPDATE SET why = excluded.why, at = excluded.at

-- name: delete_declines
DELETE FROM declines WHERE task_id = :id

-- name: get
SELECT {task_columns} FROM tasks WHERE tasks.id = :id

-- name: by_status
-- Closed tasks are the rest: an index counts all tasks sooner than a walk through them does.
WITH unfinished (status, n) AS (
    SELECT status, count(*) FROM tasks WHERE {not_closed} GROUP BY status
), closed (n) AS (
    SELECT (SELECT count(*) FROM tasks) - (SELECT count(*) FROM tasks WHERE {not_closed})
)
SELECT status, n FROM unfinished
UNION ALL
SELECT 'closed', n FROM closed WHERE n > 0

-- name: insert_task
INSERT INTO tasks ({own_columns}) VALUES ({own_values})

-- name: exists
SELECT 1 FROM tasks WHERE id = :id

-- name: next_child
UPDATE tasks SET last_child = last_child + 1 WHERE id = :id RETURNING last_child

-- name: insert_label
INSERT INTO labels (task_id, label) VALUES (:id, :label) ON CONFLICT DO NOTHING

-- name: meta
SELECT value FROM meta WHERE key = :key

-- name: set_meta
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: insert_request
INSERT INTO requests (id, task_id, wish, text, asked_by, asked_at)
VALUES (:id, :task_id, :wish, :text, :asked_by, :asked_at)

-- name: requests
SELECT id, task_id, wish, text, asked_by, asked_at FROM requests ORDER BY asked_at, id

-- name: delete_request
DELETE FROM requests WHERE id = :id

-- name: select_tasks
SELECT {task_columns} FROM tasks

-- name: queue_order
ORDER BY tasks.priority, tasks.created_at, tasks.id

-- name: not_closed
-- The words of the index `tasks_waiting`, which engines take only for these. By a check of the table
-- just the closed tasks have the time.
tasks.closed_at IS NULL

-- name: closed_since
tasks.closed_at >= :closed_since

-- name: leased_by
tasks.lease_owner = :leased_by

-- name: of_spec
(tasks.spec_id = CAST(:spec AS TEXT)
 OR substr(tasks.spec_id, 1, length(CAST(:spec_part AS TEXT))) = CAST(:spec_part AS TEXT))
