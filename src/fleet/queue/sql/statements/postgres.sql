-- What only PostgreSQL needs. `:name` is a value, `{name}` another entry of this file or of
-- queue.sql.

-- name: session
-- Durable commits and bounded waits. Our statements are short look-ups by an index: planning one
-- takes longer than running it, so one plan serves, compiling one takes a hundred times as long,
-- and a bitmap is built in vain for a row or two. A machine that vanished is found out within a
-- minute: by itself the server takes two hours, and that long the machine would hold a branch that
-- it was landing on. The last answer is the server's time.
SELECT set_config('search_path', 'fleet', false),
       set_config('lock_timeout', :lock_timeout, false),
       set_config('statement_timeout', :statement_timeout, false),
       set_config('client_min_messages', 'warning', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('jit', 'off', false),
       set_config('enable_bitmapscan', 'off', false),
       set_config('random_page_cost', '1.1', false),
       set_config('tcp_keepalives_idle', '20', false),
       set_config('tcp_keepalives_interval', '10', false),
       set_config('tcp_keepalives_count', '3', false),
       set_config('tcp_user_timeout', '50000', false),
       CASE current_setting('synchronous_commit')
           WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END,
       {server_time}

-- name: server_time
(extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: measure
SELECT {server_time}

-- name: is_made
SELECT 1 WHERE to_regclass('fleet.meta') IS NOT NULL
           AND to_regprocedure('fleet.has_unmet_dependency(bigint, text)') IS NOT NULL

-- name: has_meta
SELECT 1 WHERE to_regclass('fleet.meta') IS NOT NULL

-- name: identity
SELECT value FROM fleet.meta WHERE key = 'identity'

-- name: insert_identity
INSERT INTO meta (key, value) VALUES ('identity', :id) ON CONFLICT DO NOTHING

-- name: has_schema
SELECT 1 WHERE to_regnamespace('fleet') IS NOT NULL

-- name: be_patient
-- For this transaction: a migration of much history may take longer than our statements do.
SELECT set_config('lock_timeout', '120s', true), set_config('statement_timeout', '0', true)

-- name: lock_schema
-- One process at a time makes or migrates the schema.
SELECT pg_advisory_xact_lock(1718379877, 1)

-- name: create_schema
CREATE SCHEMA fleet

-- name: create_meta
CREATE TABLE IF NOT EXISTS fleet.meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)

-- name: insert_prefix
INSERT INTO meta (key, value) VALUES ('prefix', :prefix) ON CONFLICT DO NOTHING

-- name: create_waits_for_others
-- The number of `:now` is $1. The cost keeps the planner from sorting tasks instead of walking
-- `tasks_waiting`. A change of the text needs another name, or queues keep the function they have.
CREATE OR REPLACE FUNCTION fleet.has_unmet_dependency(bigint, text) RETURNS boolean
LANGUAGE plpgsql STABLE COST 10000 SET search_path = fleet AS $waits$
BEGIN
    RETURN (SELECT {unmet_dependency} FROM tasks WHERE tasks.id = $2);
END $waits$

-- name: tables
SELECT tablename FROM pg_tables WHERE schemaname = 'fleet' ORDER BY tablename

-- name: one_check
-- The checks of `tasks` as one function. PostgreSQL reads the text of each check again in every
-- statement that writes a row, which takes a sixth of a claim; a function is read once a session.
DO $install$
DECLARE
    columns text;
    parameters text;
    rule text;
    named text;
BEGIN
    IF to_regproc('fleet.possible_task') IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
           string_agg(format('%I %s', attname, atttypid::regtype), ', ' ORDER BY attnum)
    INTO columns, parameters FROM pg_attribute
    WHERE attrelid = 'fleet.tasks'::regclass AND attnum IN (
        SELECT unnest(conkey) FROM pg_constraint
        WHERE conrelid = 'fleet.tasks'::regclass AND contype = 'c');
    SELECT string_agg(pg_get_expr(conbin, conrelid), ' AND ') INTO rule FROM pg_constraint
    WHERE conrelid = 'fleet.tasks'::regclass AND contype = 'c';
    FOR named IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'fleet.tasks'::regclass AND contype = 'c'
    LOOP
        EXECUTE format('ALTER TABLE fleet.tasks DROP CONSTRAINT %I', named);
    END LOOP;
    EXECUTE format('CREATE FUNCTION fleet.possible_task(%s) RETURNS boolean LANGUAGE plpgsql'
        ' IMMUTABLE AS %L', parameters, format('BEGIN RETURN %s; END', rule));
    EXECUTE format('ALTER TABLE fleet.tasks ADD CONSTRAINT tasks_possible'
        ' CHECK (fleet.possible_task(%s))', columns);
END $install$

-- name: bell
-- Every write notifies in its own transaction, whatever program writes. A claim and a renewal
-- notify nothing: they leave a task in progress under a lease, and no listener waits for that. Nor
-- do the tables that hosts write all the time; of a host only its state is news.
CREATE OR REPLACE FUNCTION fleet.ring() RETURNS trigger LANGUAGE plpgsql AS $ring$
BEGIN
    PERFORM pg_notify('fleet_queue', '');
    RETURN NULL;
END $ring$;
DO $install$
DECLARE
    named text;
BEGIN
    FOR named IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'fleet'
          AND tablename NOT IN ('meta', 'tasks', 'hosts', 'spending', 'shared_states', 'run_files',
                                'live_lines', 'live_wishes')
    LOOP
        EXECUTE format('DROP TRIGGER IF EXISTS ring ON fleet.%I', named);
        EXECUTE format('CREATE TRIGGER ring AFTER INSERT OR UPDATE OR DELETE ON fleet.%I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION fleet.ring()', named);
    END LOOP;
END $install$;
DROP TRIGGER IF EXISTS ring ON fleet.tasks;
DROP TRIGGER IF EXISTS ring_update ON fleet.tasks;
CREATE TRIGGER ring AFTER INSERT OR DELETE ON fleet.tasks
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.ring();
CREATE TRIGGER ring_update AFTER UPDATE ON fleet.tasks
    FOR EACH ROW WHEN (NEW.lease_owner IS NULL) EXECUTE FUNCTION fleet.ring();
DO $install$
BEGIN
    IF to_regclass('fleet.hosts') IS NOT NULL THEN
        DROP TRIGGER IF EXISTS ring ON fleet.hosts;
        CREATE TRIGGER ring AFTER UPDATE ON fleet.hosts
            FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION fleet.ring();
    END IF;
    IF to_regclass('fleet.live_lines') IS NOT NULL THEN
        -- Lines that a crash of the server may take: the run's files have them in the end.
        ALTER TABLE fleet.live_lines SET UNLOGGED;
        -- A wish that is renewed is no news.
        DROP TRIGGER IF EXISTS ring ON fleet.live_wishes;
        CREATE TRIGGER ring AFTER INSERT ON fleet.live_wishes
            FOR EACH STATEMENT EXECUTE FUNCTION fleet.ring();
    END IF;
END $install$;

-- name: listen
LISTEN fleet_queue
