-- Taking tasks out of the queue for good.

-- name: delete_task
DELETE FROM tasks WHERE id = :id

-- name: dependents
SELECT task_id FROM dependencies WHERE depends_on_id = :id ORDER BY task_id

-- name: edges_touching
SELECT task_id, depends_on_id, type FROM dependencies
WHERE task_id = :id OR depends_on_id = :id
ORDER BY task_id, depends_on_id

-- name: set_texts
UPDATE tasks SET description = :description, design = :design, notes = :notes,
    acceptance_criteria = :acceptance_criteria, updated_at = :now
WHERE id = :id
