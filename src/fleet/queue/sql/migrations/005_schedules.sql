-- Lines of cron that create tasks. `due` is when the next one is to be created; `record` is the
-- whole schedule as JSON.
CREATE TABLE schedules (
    name   TEXT PRIMARY KEY CHECK (name <> ''),
    due    BIGINT NOT NULL,
    record TEXT NOT NULL
);
