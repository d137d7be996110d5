-- The queue as both SQL engines hold it. Moments are microseconds since 1970 in UTC.
-- A row that would make no sense (closed without a time, a lease on a task that is not in progress)
-- cannot be written.

CREATE TABLE tasks (
    id                  TEXT PRIMARY KEY,
    title               TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 500),
    status              TEXT NOT NULL CHECK (status IN
        ('open', 'in_progress', 'blocked', 'deferred', 'closed', 'pinned', 'hooked')),
    priority            BIGINT NOT NULL CHECK (priority BETWEEN 0 AND 4),
    issue_type          TEXT NOT NULL CHECK (issue_type <> ''),
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL,
    description         TEXT NOT NULL DEFAULT '',
    design              TEXT NOT NULL DEFAULT '',
    acceptance_criteria TEXT NOT NULL DEFAULT '',
    notes               TEXT NOT NULL DEFAULT '',
    spec_id             TEXT NOT NULL DEFAULT '',
    assignee            TEXT NOT NULL DEFAULT '',
    owner               TEXT NOT NULL DEFAULT '',
    created_by          TEXT NOT NULL DEFAULT '',
    estimated_minutes   BIGINT,
    started_at          BIGINT,
    closed_at           BIGINT,
    close_reason        TEXT NOT NULL DEFAULT '',
    due_at              BIGINT,
    defer_until         BIGINT,
    not_before          BIGINT,
    external_ref        TEXT,
    metadata            TEXT NOT NULL DEFAULT '{}',
    extra               TEXT NOT NULL DEFAULT '{}',
    last_child          BIGINT NOT NULL DEFAULT 0,
    fence               BIGINT NOT NULL DEFAULT 0,
    lease_owner         TEXT,
    lease_until         BIGINT,
    heartbeat_at        BIGINT,
    CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (lease_owner IS NULL OR status = 'in_progress')
);

-- The order in which work is handed out. Closed history is not in it, so it costs nothing.
CREATE INDEX tasks_waiting ON tasks (priority, created_at, id)
    WHERE status IN ('open', 'deferred', 'in_progress');
CREATE INDEX tasks_by_status ON tasks (status, priority, created_at);

CREATE TABLE labels (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    -- Labels are read joined by line breaks, so none may hold one.
    label   TEXT NOT NULL CHECK (label <> '' AND label NOT LIKE '%
%'),
    PRIMARY KEY (task_id, label)
);
CREATE INDEX labels_by_label ON labels (label);

CREATE TABLE dependencies (
    task_id       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    depends_on_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    type          TEXT NOT NULL CHECK (length(type) BETWEEN 1 AND 32),
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL DEFAULT '',
    metadata      TEXT NOT NULL DEFAULT '{}',
    thread_id     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (task_id, depends_on_id),
    CHECK (task_id <> depends_on_id)
);
CREATE INDEX dependencies_by_target ON dependencies (depends_on_id, type);

CREATE TABLE comments (
    id         TEXT PRIMARY KEY,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    author     TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX comments_by_task ON comments (task_id, created_at);

CREATE TABLE requests (
    id       TEXT PRIMARY KEY,
    task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    wish     TEXT NOT NULL CHECK (wish IN ('stop', 'retry', 'answer', 'tell')),
    text     TEXT NOT NULL DEFAULT '',
    asked_by TEXT NOT NULL DEFAULT '',
    asked_at BIGINT NOT NULL
);

CREATE TABLE memories (
    key        TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
