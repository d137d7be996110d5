-- Comments and memories.

-- name: insert_comment
INSERT INTO comments (id, task_id, author, text, created_at)
VALUES (:comment_id, :id, :author, :text, :now)
ON CONFLICT (id) DO NOTHING

-- name: memories
SELECT key, value FROM memories ORDER BY key

-- name: memory
SELECT value FROM memories WHERE key = :key

-- name: set_memory
INSERT INTO memories (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: delete_memory
DELETE FROM memories WHERE key = :key RETURNING value
