-- Small changes to one task that a person or an agent makes.

-- name: hold
-- Read a task so that nobody else can change it before this transaction ends.
UPDATE tasks SET updated_at = updated_at WHERE id = :id RETURNING {task_columns}

-- name: append_note
UPDATE tasks SET updated_at = :now,
    notes = CASE WHEN notes = '' THEN :note ELSE notes || :new_line || :note END
WHERE id = :id

-- name: assign
UPDATE tasks SET assignee = :assignee, updated_at = :now WHERE id = :id

-- name: hand_over
-- Whoever ran it has lost it; whoever has it now is seen from this moment on.
UPDATE tasks SET assignee = :assignee, updated_at = :now, heartbeat_at = :now,
    lease_owner = NULL, lease_until = NULL
WHERE id = :id

-- name: set_priority
UPDATE tasks SET priority = :priority, updated_at = :now WHERE id = :id

-- name: touch
UPDATE tasks SET updated_at = :now WHERE id = :id

-- name: delete_label
DELETE FROM labels WHERE task_id = :id AND label = :label RETURNING label

-- name: label_counts
SELECT label, count(*) FROM labels GROUP BY label ORDER BY label

-- name: put_off
UPDATE tasks SET status = 'deferred', closed_at = NULL, close_reason = '',
    lease_owner = NULL, lease_until = NULL, heartbeat_at = NULL, updated_at = :now
WHERE id = :id

-- name: put_off_until
UPDATE tasks SET defer_until = :until WHERE id = :id

-- name: wake
UPDATE tasks SET status = 'open', defer_until = NULL, updated_at = :now WHERE id = :id

-- name: finish
UPDATE tasks SET status = 'closed', closed_at = :now, close_reason = :reason,
    lease_owner = NULL, lease_until = NULL, heartbeat_at = NULL, updated_at = :now
WHERE id = :id

-- name: untouched
SELECT {task_columns} FROM tasks
WHERE tasks.status = :status AND tasks.updated_at < :before
ORDER BY tasks.updated_at, tasks.id

-- name: with_label
SELECT {task_columns} FROM tasks JOIN labels l ON l.task_id = tasks.id
WHERE l.label = :label
ORDER BY tasks.priority, tasks.created_at DESC, tasks.id
