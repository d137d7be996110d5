-- Named statements of the ledger. Moments are microseconds since 1970 in UTC.

-- name: schema
-- `holder` is whom bd was last seen to name: while a take-over is under way it is not the owner.
-- `number` is the order in which fleet added tasks: bd's own times are whole seconds.
CREATE TABLE entries (
    task_id      TEXT PRIMARY KEY,
    fence        INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
    owner        TEXT CHECK (owner <> ''),
    holder       TEXT,
    until        INTEGER,
    heartbeat_at INTEGER,
    not_before   INTEGER,
    number       INTEGER,
    CHECK ((owner IS NULL) = (until IS NULL))
) WITHOUT ROWID;
CREATE INDEX entries_held ON entries (owner, until) WHERE owner IS NOT NULL;
CREATE INDEX entries_put_off ON entries (not_before) WHERE not_before IS NOT NULL;
CREATE INDEX entries_added ON entries (number) WHERE number IS NOT NULL;
CREATE TABLE requests (
    id       TEXT PRIMARY KEY,
    task_id  TEXT NOT NULL,
    wish     TEXT NOT NULL CHECK (wish IN ('stop', 'retry', 'answer', 'tell')),
    text     TEXT NOT NULL DEFAULT '',
    asked_by TEXT NOT NULL DEFAULT '',
    asked_at INTEGER NOT NULL
);

-- name: schema_2
CREATE TABLE schedules (
    name   TEXT PRIMARY KEY CHECK (name <> ''),
    due    INTEGER NOT NULL,
    record TEXT NOT NULL
) WITHOUT ROWID;

-- name: schema_3
-- Why bd has the task as blocked, as JSON; empty: a client of bd blocked it, or it is not blocked.
ALTER TABLE entries ADD COLUMN waits TEXT NOT NULL DEFAULT '';

-- name: columns
task_id, fence, owner, holder, until, heartbeat_at, not_before, number, waits

-- name: entries
SELECT {columns} FROM entries WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: ran_out
SELECT {columns} FROM entries WHERE owner IS NOT NULL AND until <= :now

-- name: held_by
SELECT task_id FROM entries WHERE owner = :owner

-- name: added
INSERT INTO entries (task_id, number)
VALUES (:id, (SELECT coalesce(max(number), 0) + 1 FROM entries WHERE number IS NOT NULL))
ON CONFLICT (task_id) DO UPDATE SET number = excluded.number WHERE number IS NULL

-- name: take
INSERT INTO entries (task_id, fence, owner, holder, until, heartbeat_at)
VALUES (:id, 1, :owner, :holder, :until, :now)
ON CONFLICT (task_id) DO UPDATE
SET fence = fence + 1, owner = :owner, holder = :holder, until = :until, heartbeat_at = :now,
    not_before = NULL, waits = ''
WHERE (owner IS NULL OR until <= :now) AND (not_before IS NULL OR not_before <= :now)
RETURNING fence

-- name: ours
task_id = :id AND owner = :owner AND fence = :fence

-- name: verified
UPDATE entries SET holder = :owner WHERE {ours}

-- name: renew
UPDATE entries SET until = :until, heartbeat_at = :now WHERE {ours} RETURNING fence

-- name: doubt
UPDATE entries SET until = :now WHERE {ours}

-- name: put_off
UPDATE entries SET not_before = :not_before WHERE {ours}

-- name: no_wait
UPDATE entries SET not_before = NULL WHERE task_id = :id AND fence = :fence

-- name: explain
INSERT INTO entries (task_id, waits) VALUES (:id, :waits)
ON CONFLICT (task_id) DO UPDATE SET waits = :waits WHERE fence = :fence

-- name: end
UPDATE entries SET owner = NULL, holder = NULL, until = NULL WHERE {ours}

-- name: insert_request
INSERT INTO requests (id, task_id, wish, text, asked_by, asked_at)
VALUES (:id, :task_id, :wish, :text, :asked_by, :asked_at)

-- name: requests
SELECT id, task_id, wish, text, asked_by, asked_at FROM requests ORDER BY asked_at, id

-- name: delete_request
DELETE FROM requests WHERE id = :id
