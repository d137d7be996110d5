-- Claims that a person or an agent made with bd. A supervisor's lease has a lease_owner.

-- name: beat
UPDATE tasks SET heartbeat_at = :now WHERE id = :id

-- name: release
UPDATE tasks SET status = 'open', assignee = '', started_at = NULL, updated_at = :now,
    lease_owner = NULL, lease_until = NULL, heartbeat_at = NULL
WHERE id = :id

-- name: gone_quiet
SELECT {task_columns} FROM tasks
WHERE tasks.status = 'in_progress' AND tasks.lease_owner IS NULL AND tasks.heartbeat_at <= :before
{queue_order}

-- name: run_out
SELECT {task_columns} FROM tasks
WHERE tasks.status = 'in_progress' AND tasks.lease_until <= :before
{queue_order}
