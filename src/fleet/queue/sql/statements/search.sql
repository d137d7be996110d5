-- Conditions and orders of the searches. Each condition is about one row of `tasks`; `$` stands
-- for its values.

-- name: ids_starting
SELECT id FROM tasks
WHERE substr(id, 1, length(CAST(:bare AS TEXT))) = :bare
   OR substr(id, 1, length(CAST(:prefixed AS TEXT))) = :prefixed
ORDER BY id LIMIT 100

-- name: unblocked
NOT {held_up}

-- name: has_label
EXISTS (SELECT 1 FROM labels l WHERE l.task_id = tasks.id AND l.label IN ($))

-- name: unlabelled
NOT EXISTS (SELECT 1 FROM labels l WHERE l.task_id = tasks.id)

-- name: child_of
EXISTS (SELECT 1 FROM dependencies up WHERE up.task_id = tasks.id
        AND up.type = 'parent-child' AND up.depends_on_id = $)

-- name: top_level
NOT EXISTS (SELECT 1 FROM dependencies up WHERE up.task_id = tasks.id AND up.type = 'parent-child')

-- name: below
tasks.id IN (
    WITH RECURSIVE family (id) AS (
        SELECT down.task_id FROM dependencies down
        WHERE down.depends_on_id = $ AND down.type = 'parent-child'
        UNION
        SELECT down.task_id FROM family JOIN dependencies down ON down.depends_on_id = family.id
        WHERE down.type = 'parent-child'
    )
    SELECT id FROM family
)

-- name: by_hybrid
-- Young tasks by priority, then the old ones by age, so that nothing waits for ever.
CASE WHEN tasks.created_at >= :recent THEN 0 ELSE 1 END,
CASE WHEN tasks.created_at >= :recent THEN tasks.priority ELSE 0 END,
tasks.created_at, tasks.id
