-- Why a host takes no task for now: it is paused, or short of something. Empty: it takes tasks.
ALTER TABLE hosts ADD COLUMN why_idle TEXT NOT NULL DEFAULT '';
