-- Why a task is blocked, as JSON: a kind with its facts. Empty: it is not blocked, or a client of bd
-- blocked it without a word.
ALTER TABLE tasks ADD COLUMN waits TEXT NOT NULL DEFAULT '';
