-- The machines that share a queue, and what they tell each other.

-- name: host_columns
id, incarnation, name, version, labels, coders, accounts, mirrors, unreachable, slots, free,
why_idle, state, started_at, seen_at

-- name: register_host
-- A host that was left draining stays so until a person lets it go on. A row that a living home on
-- another machine keeps is not taken: nothing comes back then.
INSERT INTO hosts (id, incarnation, machine, name, version, labels, coders, accounts, mirrors,
                   unreachable, slots, free, why_idle, state, started_at, seen_at)
VALUES (:id, :incarnation, :machine, :name, :version, :labels, :coders, :accounts, :mirrors,
        :unreachable, :slots, :free, :why_idle, 'up', :now, :now)
ON CONFLICT (id) DO UPDATE
SET incarnation = excluded.incarnation, machine = excluded.machine, name = excluded.name,
    version = excluded.version, labels = excluded.labels, coders = excluded.coders,
    accounts = excluded.accounts, mirrors = excluded.mirrors, unreachable = excluded.unreachable,
    slots = excluded.slots, free = excluded.free, why_idle = excluded.why_idle,
    started_at = excluded.started_at, seen_at = excluded.seen_at,
    state = CASE hosts.state WHEN 'draining' THEN 'draining' ELSE 'up' END
WHERE hosts.machine = excluded.machine OR hosts.state = 'gone' OR hosts.seen_at <= :long_ago
RETURNING state

-- name: beat
-- The row is this incarnation's own, or nothing comes back. A host that was given up and speaks
-- again is up: its old leases are lost to it all the same.
UPDATE hosts
SET name = :name, labels = :labels, coders = :coders, accounts = :accounts, mirrors = :mirrors,
    unreachable = :unreachable, slots = :slots, free = :free, why_idle = :why_idle, seen_at = :now,
    state = CASE state WHEN 'draining' THEN 'draining' ELSE 'up' END
WHERE id = :id AND incarnation = :incarnation
RETURNING state, (SELECT value FROM meta WHERE key = 'schema_version')

-- name: leave
UPDATE hosts SET state = CASE state WHEN 'draining' THEN state ELSE 'gone' END, free = 0,
    seen_at = :long_ago
WHERE id = :id AND incarnation = :incarnation

-- name: forget_declines
-- A host that starts anew may have got what it lacked.
DELETE FROM declines WHERE host = :id

-- name: hosts
SELECT {host_columns} FROM hosts ORDER BY name, id

-- name: host_name
SELECT name FROM hosts WHERE id = :id

-- name: set_host_state
UPDATE hosts SET state = :state WHERE id = :id RETURNING id

-- name: give_up_host
-- Without slots: other than one that ended in order, it is not waited for. Its next word gives it
-- its slots again.
UPDATE hosts SET state = 'gone', slots = 0, free = 0 WHERE id = :id RETURNING id

-- name: free_leases
-- The leases of a host that a person gives up: as if their time were over.
UPDATE tasks SET lease_until = :now WHERE lease_owner = :id AND lease_until > :now RETURNING id

-- name: leases_of
SELECT count(*) FROM tasks WHERE lease_owner = :id AND lease_until > :now

-- name: delete_host
DELETE FROM hosts WHERE id = :id

-- name: work_of_hosts
SELECT lease_owner, id, title, lease_until FROM tasks
WHERE {not_closed} AND lease_owner IS NOT NULL ORDER BY started_at, id

-- name: declines_of
SELECT host, why, at FROM declines WHERE task_id = :id ORDER BY at

-- name: share_spend
INSERT INTO spending (task_id, run, day, host, project, account, spend, at)
VALUES (:task_id, :run, :day, :host, :project, :account, :spend, :now)
ON CONFLICT (task_id, run) DO UPDATE SET spend = excluded.spend, at = excluded.at

-- name: spends_elsewhere
SELECT task_id, run, host, project, account, spend, at FROM spending
WHERE day = :day AND host <> :host AND at > :after ORDER BY at

-- name: server_now
-- A server that was promoted or recovered to a moment is on another timeline, one that was filled
-- from a dump has other tables. A standby has no stamp: nothing is claimed there anyway.
SELECT CASE WHEN NOT pg_is_in_recovery() THEN concat_ws('/',
           (SELECT system_identifier FROM pg_control_system()),
           left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), 'tasks'::regclass::oid) END,
       (SELECT value FROM meta WHERE key = 'server'),
       (SELECT value FROM meta WHERE key = 'claims_from'),
       (SELECT seen_at FROM hosts WHERE id = :id),
       (SELECT value FROM meta WHERE key = 'removed ' || :id)

-- name: share_news
INSERT INTO shared_states (kind, name, value, updated_at) VALUES (:kind, :name, :value, :now)
ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: forget_news
DELETE FROM shared_states WHERE updated_at < :long_ago

-- name: news_elsewhere
-- A name begins with the id of the host that told it.
SELECT kind, name, value, updated_at FROM shared_states
WHERE updated_at > :after AND substr(name, 1, length(:host) + 1) <> :host || ' '
ORDER BY updated_at
