-- How much of what there is.

-- name: by_status
SELECT status, count(*) FROM tasks GROUP BY status

-- name: by_status_of
SELECT status, count(*) FROM tasks WHERE assignee = :assignee GROUP BY status

-- name: unfinished
SELECT id, status, assignee FROM tasks WHERE {not_closed}

-- name: lead_time
SELECT coalesce(avg(closed_at - created_at), 0) FROM tasks WHERE status = 'closed'

-- name: finished_epics
SELECT count(*) FROM tasks epic WHERE epic.issue_type = 'epic' AND epic.status <> 'closed'
AND EXISTS (SELECT 1 FROM dependencies d WHERE d.depends_on_id = epic.id AND d.type = 'parent-child')
AND NOT EXISTS (
    SELECT 1 FROM dependencies d JOIN tasks child ON child.id = d.task_id
    WHERE d.depends_on_id = epic.id AND d.type = 'parent-child' AND child.status <> 'closed'
)
