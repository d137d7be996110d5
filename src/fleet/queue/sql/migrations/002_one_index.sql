-- A claim and a settlement write a task's row anew and with it every index that the row is in: one
-- index serves the order of work and every list of tasks that are not closed. Closed history is
-- not in it, so it costs nothing.

DROP INDEX tasks_by_status;
DROP INDEX tasks_waiting;
CREATE INDEX tasks_waiting ON tasks (priority, created_at, id) WHERE status <> 'closed';
