-- Bringing tasks in from another tracker, and giving all of them out.

-- name: all_ids
SELECT id FROM tasks ORDER BY priority, created_at DESC, id

-- name: open_titles
SELECT title FROM tasks WHERE {not_closed}

-- name: comment_owner
SELECT task_id FROM comments WHERE id = :id

-- name: count_child
UPDATE tasks SET last_child = :number WHERE id = :id AND last_child < :number
