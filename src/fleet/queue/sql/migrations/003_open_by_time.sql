-- A claim and a renewal leave `closed_at` as it is, and it is the one column that tells an index
-- which tasks are not closed. So PostgreSQL writes such a row within its page, and touches no index.

DROP INDEX tasks_waiting;
CREATE INDEX tasks_waiting ON tasks (priority, created_at, id) WHERE closed_at IS NULL;
