-- Changes that a person or an agent asks for. Each runs inside one transaction.

-- name: take
-- Read a task and hold it until the transaction ends: on both engines an update does that.
UPDATE tasks SET fence = fence WHERE id = :id RETURNING {task_columns}

-- name: save
UPDATE tasks
SET title = :title, status = :status, priority = :priority, issue_type = :issue_type,
    updated_at = :updated_at, description = :description, design = :design,
    acceptance_criteria = :acceptance_criteria, notes = :notes, spec_id = :spec_id,
    assignee = :assignee, estimated_minutes = :estimated_minutes, started_at = :started_at,
    closed_at = :closed_at, close_reason = :close_reason, due_at = :due_at,
    defer_until = :defer_until, not_before = :not_before, external_ref = :external_ref,
    metadata = :metadata, extra = :extra, fence = :fence, lease_owner = :lease_owner,
    lease_until = :lease_until, heartbeat_at = :heartbeat_at
WHERE id = :id

-- name: delete_label
DELETE FROM labels WHERE task_id = :id AND label = :label

-- name: delete_parents
DELETE FROM dependencies WHERE task_id = :id AND type = 'parent-child'

-- name: sleepers
SELECT 1 FROM tasks WHERE status = 'deferred' AND defer_until <= :now LIMIT 1

-- name: wake
UPDATE tasks SET status = 'open', defer_until = NULL, updated_at = :now
WHERE status = 'deferred' AND defer_until <= :now
