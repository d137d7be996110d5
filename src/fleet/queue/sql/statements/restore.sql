-- What makes a restored copy of a SQLite queue safe: `task` is of queue.db, `entry` of ledger.db.

-- name: set_identity
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: fence_of_task
SELECT fence FROM tasks WHERE id = :id

-- name: lease_task
UPDATE tasks
SET status = 'in_progress', assignee = :owner, lease_owner = :owner, lease_until = :until,
    heartbeat_at = :now, fence = :fence, closed_at = NULL, not_before = NULL, defer_until = NULL,
    updated_at = :now
WHERE id = :id

-- name: count_task
SELECT count(*) FROM tasks

-- name: fence_of_entry
SELECT fence FROM entries WHERE task_id = :id

-- name: lease_entry
INSERT INTO entries (task_id, fence, owner, holder, until, heartbeat_at)
VALUES (:id, :fence, :owner, :owner, :until, :now)
ON CONFLICT (task_id) DO UPDATE
SET fence = :fence, owner = :owner, holder = :owner, until = :until, heartbeat_at = :now

-- name: count_entry
SELECT count(*) FROM entries
