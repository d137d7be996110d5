-- What of a task travels from host to host: the files of its runs, and the lines of a living run
-- while a person watches. The embedded queue has the tables too, and leaves them empty.

-- `run` 0: files of the task itself, as they are now. A part is at most 1 MiB before it was
-- compressed. A part without bytes is in the directory that the hosts share, under its name.
CREATE TABLE run_files (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    run     BIGINT NOT NULL CHECK (run >= 0),
    path    TEXT NOT NULL CHECK (path <> ''),
    part    BIGINT NOT NULL CHECK (part >= 0),
    size    BIGINT NOT NULL CHECK (size >= 0),
    bytes   BYTEA,
    PRIMARY KEY (task_id, run, path, part)
);

-- A person watches a task that another host runs, until then.
CREATE TABLE live_wishes (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    until   BIGINT NOT NULL
);

-- New bytes of a file of a living run, in the order of their numbers.
CREATE TABLE live_lines (
    task_id TEXT NOT NULL,
    run     BIGINT NOT NULL,
    path    TEXT NOT NULL,
    start   BIGINT NOT NULL,
    bytes   BYTEA NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (task_id, run, path, start)
);
