-- Claims that went quiet. A supervisor's lease has a lease_owner; a person's claim has none.

-- name: gone_quiet
SELECT {task_columns} FROM tasks
WHERE tasks.status = 'in_progress' AND tasks.lease_owner IS NULL AND tasks.heartbeat_at <= :before
{queue_order}

-- name: run_out
SELECT {task_columns} FROM tasks
WHERE tasks.status = 'in_progress' AND tasks.lease_until <= :before
{queue_order}
