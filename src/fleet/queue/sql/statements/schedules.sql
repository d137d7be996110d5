-- Schedules, on every queue: on beads in fleet's ledger.

-- name: schedules
SELECT record FROM schedules ORDER BY name

-- name: add_schedule
INSERT INTO schedules (name, due, record) VALUES (:name, :due, :record)
ON CONFLICT (name) DO NOTHING RETURNING name

-- name: move_schedule
-- Nothing changes if another process was first.
UPDATE schedules SET due = :due, record = :record WHERE name = :name AND due = :before
RETURNING name

-- name: remove_schedule
DELETE FROM schedules WHERE name = :name RETURNING name
