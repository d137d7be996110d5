-- Taking tasks out of the queue for good.

-- name: delete_task
DELETE FROM tasks WHERE id = :id

-- name: set_texts
UPDATE tasks SET description = :description, design = :design, notes = :notes,
    acceptance_criteria = :acceptance_criteria, updated_at = :now
WHERE id = :id
