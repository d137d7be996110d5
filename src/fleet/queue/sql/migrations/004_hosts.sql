-- Many machines on one queue: who they are, what a task needs of a machine, what all of them spend
-- and know. The embedded queue has the tables too, and leaves them empty.

-- What a task needs of its host, a line each (`host:alpha`, `home:fleet1a2b`, `label:gpu`,
-- `coder:codex`), and the address that its code comes from. Both follow from its metadata, and are
-- written with that.
ALTER TABLE tasks ADD COLUMN requires TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN repository TEXT NOT NULL DEFAULT '';
-- How many runs and failed attempts there were, over all hosts, and the host of the last run.
ALTER TABLE tasks ADD COLUMN runs BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN last_host TEXT NOT NULL DEFAULT '';

CREATE TABLE hosts (
    -- The owner of its home: the name that its leases are held under.
    id           TEXT PRIMARY KEY,
    -- New with each start of a supervisor.
    incarnation  TEXT NOT NULL,
    -- The machine and the directory that the home is on: a copy of the home is another.
    machine      TEXT NOT NULL DEFAULT '',
    name         TEXT NOT NULL CHECK (name <> ''),
    version      TEXT NOT NULL DEFAULT '',
    -- Texts, a line each. Coders have their version behind a space.
    labels       TEXT NOT NULL DEFAULT '',
    coders       TEXT NOT NULL DEFAULT '',
    accounts     TEXT NOT NULL DEFAULT '',
    mirrors      TEXT NOT NULL DEFAULT '',
    unreachable  TEXT NOT NULL DEFAULT '',
    slots        BIGINT NOT NULL DEFAULT 0,
    free         BIGINT NOT NULL DEFAULT 0,
    state        TEXT NOT NULL DEFAULT 'up' CHECK (state IN ('up', 'draining', 'gone')),
    started_at   BIGINT NOT NULL,
    seen_at      BIGINT NOT NULL
);

-- A host that was given a task and found that it cannot run it. It does not see the task again
-- before it is started anew, or the task is changed.
CREATE TABLE declines (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    host    TEXT NOT NULL,
    why     TEXT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (task_id, host)
);

-- What each run spent, by the day on which it began: the ledger that day budgets are held against.
CREATE TABLE spending (
    task_id TEXT NOT NULL,
    run     BIGINT NOT NULL,
    day     TEXT NOT NULL,
    host    TEXT NOT NULL,
    project TEXT NOT NULL DEFAULT '',
    account TEXT NOT NULL DEFAULT '',
    spend   TEXT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (task_id, run)
);
CREATE INDEX spending_by_day ON spending (day, at);

-- What hosts tell each other of keys and coders: windows and limits of an account whose key they
-- share, and circuits of the breaker. The value is JSON.
CREATE TABLE shared_states (
    kind       TEXT NOT NULL CHECK (kind IN ('account', 'circuit')),
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);
