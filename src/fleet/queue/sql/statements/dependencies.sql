-- Dependencies: which task waits for which, and whose child it is.

-- name: edge_type
SELECT type FROM dependencies WHERE task_id = :id AND depends_on_id = :depends_on

-- name: insert_dependency
INSERT INTO dependencies (task_id, depends_on_id, type, created_at, created_by, metadata, thread_id)
VALUES (:id, :depends_on, :type, :now, :actor, :metadata, :thread_id)
ON CONFLICT DO NOTHING
RETURNING task_id

-- name: delete_dependency
DELETE FROM dependencies WHERE task_id = :id AND depends_on_id = :depends_on
RETURNING type

-- name: reaches
-- Does a chain of waiting already lead from :from to :to? A child waits for what holds its parent.
WITH RECURSIVE chain (id) AS (
    SELECT d.depends_on_id FROM dependencies d
    WHERE d.task_id = :from AND d.type IN ('blocks', 'conditional-blocks', 'parent-child')
    UNION
    SELECT d.depends_on_id FROM chain CROSS JOIN dependencies d
    WHERE d.task_id = chain.id AND d.type IN ('blocks', 'conditional-blocks', 'parent-child')
)
SELECT 1 FROM chain WHERE id = :to

-- name: descends
-- Is :id a child, or a child's child, of :ancestor?
WITH RECURSIVE line (id) AS (
    SELECT d.depends_on_id FROM dependencies d WHERE d.task_id = :id AND d.type = 'parent-child'
    UNION
    SELECT d.depends_on_id FROM line CROSS JOIN dependencies d
    WHERE d.task_id = line.id AND d.type = 'parent-child'
)
SELECT 1 FROM line WHERE id = :ancestor

-- name: targets
SELECT {task_columns}, d.type FROM dependencies d JOIN tasks ON tasks.id = d.depends_on_id
WHERE d.task_id = :id ORDER BY tasks.id

-- name: dependents
SELECT {task_columns}, d.type FROM dependencies d JOIN tasks ON tasks.id = d.task_id
WHERE d.depends_on_id = :id ORDER BY tasks.id

-- name: waiting_edges
-- The edges that a cycle could be made of.
SELECT d.task_id, d.depends_on_id FROM dependencies d
WHERE d.type IN ('blocks', 'conditional-blocks', 'parent-child')
ORDER BY d.task_id, d.depends_on_id

-- name: epics
-- Open epics that have children, and how many of those there are and are closed.
SELECT {task_columns}, counts.children, counts.closed FROM tasks JOIN (
    SELECT d.depends_on_id AS id, count(*) AS children,
           sum(CASE WHEN child.status = 'closed' THEN 1 ELSE 0 END) AS closed
    FROM dependencies d JOIN tasks child ON child.id = d.task_id
    WHERE d.type = 'parent-child' GROUP BY d.depends_on_id
) counts ON counts.id = tasks.id
WHERE tasks.issue_type = 'epic' AND {not_closed}
{queue_order}
