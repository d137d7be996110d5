-- Bringing tasks in from another tracker, and giving all of them out.

-- name: all_ids
SELECT id FROM tasks ORDER BY priority, created_at DESC, id

-- name: open_titles
SELECT title FROM tasks WHERE status <> 'closed'

-- name: insert_edge
INSERT INTO dependencies (task_id, depends_on_id, type, created_at, created_by, metadata, thread_id)
VALUES (:id, :depends_on, :type, :now, :actor, :metadata, :thread_id)
ON CONFLICT DO NOTHING
RETURNING task_id

-- name: comment_owner
SELECT task_id FROM comments WHERE id = :id

-- name: count_child
UPDATE tasks SET last_child = :number WHERE id = :id AND last_child < :number
