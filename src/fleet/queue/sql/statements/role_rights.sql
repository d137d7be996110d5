-- What a role may do with the queue.

-- name: role
SELECT current_user

-- name: missing_rights
-- `meta` is changed by the owner alone, but for the length of ids.
SELECT t.tablename, r.name FROM pg_tables t
CROSS JOIN (VALUES ('SELECT', 1), ('INSERT', 2), ('UPDATE', 3), ('DELETE', 4)) r (name, place)
WHERE t.schemaname = 'fleet' AND NOT (t.tablename = 'meta' AND r.name = 'DELETE')
  AND NOT has_table_privilege(format('fleet.%I', t.tablename), r.name)
ORDER BY t.tablename, r.place
