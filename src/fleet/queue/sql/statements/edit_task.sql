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
