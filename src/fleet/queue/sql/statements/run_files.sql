-- Statements for what travels between hosts. `:name` is a value, `{name}` another entry.

-- name: is_held
-- The task is under the lease of :owner; without an owner: no host has it in hand.
EXISTS (SELECT 1 FROM tasks
        WHERE id = :task_id AND lease_owner IS NOT DISTINCT FROM CAST(:owner AS TEXT)
          AND fence = CAST(:fence AS BIGINT))

-- name: put_part
-- Of a lost lease nothing is stored, and nothing is dropped.
INSERT INTO run_files (task_id, run, path, part, size, bytes)
SELECT :task_id, CAST(:run AS BIGINT), :path, CAST(:part AS BIGINT), CAST(:size AS BIGINT),
       :bytes
WHERE {is_held}
ON CONFLICT (task_id, run, path, part) DO UPDATE SET size = excluded.size, bytes = excluded.bytes
RETURNING part

-- name: drop_parts
DELETE FROM run_files
WHERE task_id = :task_id AND run = :run AND path = :path AND part >= :part AND {is_held}

-- name: stored_files
SELECT run, path, CAST(sum(size) AS BIGINT), count(*) FROM run_files WHERE task_id = :task_id
GROUP BY run, path ORDER BY run, path

-- name: stored_part
SELECT size, bytes FROM run_files
WHERE task_id = :task_id AND run = :run AND path = :path AND part = :part

-- name: receipts
-- What runs of other hosts used and how they ended. Both records are smaller than a part.
SELECT f.task_id, f.run, f.path, f.size, f.bytes FROM run_files f JOIN tasks t ON t.id = f.task_id
WHERE f.path IN ('receipt.json', 'outcome.json') AND f.part = 0 AND f.run > 0
  AND f.bytes IS NOT NULL AND t.updated_at >= :since

-- name: wish
INSERT INTO live_wishes (task_id, until) VALUES (:task_id, :until)
ON CONFLICT (task_id) DO UPDATE SET until = excluded.until

-- name: drop_wish
DELETE FROM live_wishes WHERE task_id = :task_id

-- name: wishes
SELECT task_id FROM live_wishes WHERE until > :now

-- name: forget_wishes
DELETE FROM live_wishes WHERE until <= :now

-- name: send_lines
INSERT INTO live_lines (task_id, run, path, start, bytes, sent_at)
VALUES (:task_id, :run, :path, :start, :bytes, :now) ON CONFLICT DO NOTHING

-- name: sent_until
SELECT coalesce(max(start + octet_length(bytes)), 0) FROM live_lines
WHERE task_id = :task_id AND run = :run AND path = :path

-- name: live_lines
SELECT run, start, bytes FROM live_lines
WHERE task_id = :task_id AND path = :path AND (run > :run OR (run = :run AND start >= :start))
ORDER BY run, start LIMIT 64

-- name: forget_lines
DELETE FROM live_lines WHERE task_id = :task_id

-- name: forget_old_lines
DELETE FROM live_lines WHERE sent_at <= :now

-- name: tell_run
INSERT INTO live_lines (task_id, run, path, start, bytes, sent_at)
VALUES (:task_id, :run, 'living.json', 0, :bytes, :now)
ON CONFLICT (task_id, run, path, start) DO UPDATE
SET bytes = excluded.bytes, sent_at = excluded.sent_at

-- name: living_runs
SELECT t.lease_owner, l.bytes FROM live_lines l JOIN tasks t ON t.id = l.task_id
WHERE l.path = 'living.json' AND t.lease_owner IS NOT NULL
  AND (CAST(:task_id AS TEXT) IS NULL OR l.task_id = :task_id)
ORDER BY l.run

-- name: try_to_land
-- For as long as the connection lasts: a host that is gone holds no branch. PostgreSQL only.
SELECT pg_try_advisory_lock(1718379878, hashtext(:target))

-- name: is_given_up
-- A person said that the lander will not come back, or removed it.
NOT EXISTS (SELECT 1 FROM hosts h
            WHERE h.id = {lander} AND NOT (h.state = 'gone' AND h.slots = 0))

-- name: lander
-- The host that took the landing of the last run over; else the one that ran it.
COALESCE(convert_from(l.bytes, 'UTF8'), t.last_host)

-- name: landing_hosts
tasks t LEFT JOIN run_files l
ON l.task_id = t.id AND l.run = t.runs AND l.path = '.lander' AND l.part = 0

-- name: left_landings
-- PostgreSQL only, as the rest of this: work that waits, blocked, for a lander that is given up, or
-- that this host has taken over.
SELECT t.id, {lander} FROM {landing_hosts}
WHERE t.status = 'blocked' AND t.lease_owner IS NULL AND t.last_host <> ''
  AND ({is_given_up} OR convert_from(l.bytes, 'UTF8') = :me)

-- name: taken_landings
-- Whatever another host lands by now: all of the landings that were taken over, and of a task that
-- it ran since, those of earlier runs.
SELECT t.id, {lander}, CASE WHEN l.bytes IS NULL THEN t.runs END FROM {landing_hosts}
WHERE t.status = 'blocked' AND {lander} NOT IN ('', :me)

-- name: take_over_landing
-- Of two hosts that try, one finds the row as it was.
INSERT INTO run_files (task_id, run, path, part, size, bytes)
SELECT t.id, t.runs, '.lander', 0, octet_length(CAST(:me AS TEXT)),
       convert_to(CAST(:me AS TEXT), 'UTF8')
FROM {landing_hosts}
WHERE t.id = :task_id AND t.status = 'blocked' AND t.lease_owner IS NULL
  AND t.fence = CAST(:fence AS BIGINT) AND {lander} = CAST(:lander AS TEXT) AND {is_given_up}
ON CONFLICT (task_id, run, path, part) DO UPDATE SET size = excluded.size, bytes = excluded.bytes
WHERE run_files.bytes = convert_to(CAST(:lander AS TEXT), 'UTF8')
RETURNING part

-- name: tell_landers
SELECT pg_notify('fleet_queue', '')
