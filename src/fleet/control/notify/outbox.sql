-- The outbox: what was found, what is told, and which answers came. Moments are seconds since 1970.

-- name: schema
-- Each notice as JSON, with how far a person has been told of it.
CREATE TABLE IF NOT EXISTS told (
    key      TEXT PRIMARY KEY,
    record   TEXT NOT NULL,
    ended_at REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS messages (
    key     TEXT PRIMARY KEY,
    record  TEXT NOT NULL,
    made_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
    key     TEXT NOT NULL REFERENCES messages (key),
    channel TEXT NOT NULL,
    due     REAL,
    tries   INTEGER NOT NULL DEFAULT 0,
    -- What the channel calls the message, once it has it.
    remote  TEXT,
    problem TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (key, channel)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (channel, due) WHERE due IS NOT NULL;
CREATE TABLE IF NOT EXISTS asked (
    nonce   TEXT PRIMARY KEY,
    message TEXT NOT NULL,
    task    TEXT NOT NULL,
    notice  TEXT NOT NULL,
    options TEXT NOT NULL,
    -- How it was answered, or what became of it; NULL: it is open.
    end     TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID

-- name: told
SELECT record FROM told

-- name: keep_told
INSERT INTO told (key, record, ended_at) VALUES (:key, :record, :ended_at)
ON CONFLICT (key) DO UPDATE SET record = excluded.record, ended_at = excluded.ended_at

-- name: forget_told
DELETE FROM told WHERE ended_at IS NOT NULL AND ended_at < :before

-- name: add_message
INSERT INTO messages (key, record, made_at) VALUES (:key, :record, :now) ON CONFLICT DO NOTHING

-- name: add_delivery
INSERT INTO deliveries (key, channel, due) VALUES (:key, :channel, :now) ON CONFLICT DO NOTHING

-- name: due
SELECT m.record, d.tries, m.made_at FROM deliveries AS d JOIN messages AS m ON m.key = d.key
WHERE d.channel = :channel AND d.due <= :now ORDER BY m.made_at, m.key LIMIT 20

-- name: sent
UPDATE deliveries SET due = NULL, tries = tries + 1, remote = :remote, problem = ''
WHERE key = :key AND channel = :channel

-- name: put_off
UPDATE deliveries SET due = :due, tries = tries + 1, problem = :problem
WHERE key = :key AND channel = :channel

-- name: waiting
SELECT channel, count(due), min(CASE WHEN due IS NOT NULL THEN m.made_at END),
    max(CASE WHEN due IS NOT NULL THEN problem ELSE '' END),
    sum(due IS NULL AND remote IS NULL),
    (SELECT value FROM memory WHERE name = 'sent.' || channel),
    (SELECT value FROM memory WHERE name = 'given up.' || channel)
FROM deliveries JOIN messages AS m USING (key) GROUP BY channel ORDER BY channel

-- name: count
INSERT INTO memory (name, value) VALUES (:name, '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)

-- name: made_since
SELECT count(*) FROM messages WHERE made_at >= :since

-- name: forget_messages
-- The message of an open question stays, however old: its answer is found by it.
DELETE FROM messages
WHERE made_at < :before AND key NOT IN (SELECT message FROM asked WHERE end IS NULL)

-- name: forget_deliveries
DELETE FROM deliveries WHERE key NOT IN (SELECT key FROM messages)

-- name: forget_asked
DELETE FROM asked WHERE message NOT IN (SELECT key FROM messages)

-- name: add_asked
INSERT INTO asked (nonce, message, task, notice, options)
VALUES (:nonce, :message, :task, :notice, :options) ON CONFLICT DO NOTHING

-- name: asked
SELECT nonce, message, task, notice, options, end FROM asked WHERE nonce = :nonce

-- name: asked_by_remote
SELECT a.nonce, a.message, a.task, a.notice, a.options, a.end FROM asked AS a
JOIN deliveries AS d ON d.key = a.message
WHERE d.channel = :channel AND (',' || d.remote || ',') LIKE ('%,' || :remote || ',%')

-- name: asked_by_message
SELECT nonce, message, task, notice, options, end FROM asked WHERE message = :key

-- name: open_asked
SELECT nonce, message, task, notice, options, end FROM asked WHERE end IS NULL

-- name: end_asked
UPDATE asked SET end = :end WHERE nonce = :nonce AND end IS NULL RETURNING nonce

-- name: remotes
SELECT channel, remote FROM deliveries WHERE key = :key AND remote IS NOT NULL

-- name: recall
SELECT value FROM memory WHERE name = :name

-- name: remember
INSERT INTO memory (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
