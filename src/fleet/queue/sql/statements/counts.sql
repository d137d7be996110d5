-- How much of what there is.

-- name: by_status_of
SELECT status, count(*) FROM tasks WHERE assignee = :assignee GROUP BY status

-- name: unfinished
SELECT id, status, assignee FROM tasks WHERE {not_closed}

-- name: lead_time
SELECT coalesce(avg(closed_at - created_at), 0) FROM tasks WHERE status = 'closed'
