-- Roles of a shared queue with the least rights. Before this, the owner opens the queue once (fleet
-- init --queue postgresql://owner@…), which makes the schema; later the owner's fleet migrates it.
-- For psql and a role that may make roles: a superuser, or the owner with CREATEROLE. Again changes
-- nothing. Hosts and viewers get logins of their own:
--     CREATE ROLE alpha LOGIN PASSWORD '…' IN ROLE fleet_host;
--     CREATE ROLE carol LOGIN PASSWORD '…' IN ROLE fleet_viewer;

DO $roles$
DECLARE
    -- Tables that a later fleet adds belong to the owner, whatever role this is done by.
    owner text := (SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'fleet');
    named text;
    rights text;
BEGIN
    IF owner IS NULL THEN
        RAISE 'this database has no queue yet: open it once as its owner (fleet queue status)';
    END IF;
    FOR named, rights IN VALUES
        ('fleet_host', 'SELECT, INSERT, UPDATE, DELETE'),  -- works on tasks
        ('fleet_viewer', 'SELECT')  -- looks only
    LOOP
        IF to_regrole(named) IS NULL THEN  -- roles are shared by all databases of a server
            EXECUTE format('CREATE ROLE %I NOLOGIN', named);
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA fleet TO %I', named);
        EXECUTE format('GRANT %s ON ALL TABLES IN SCHEMA fleet TO %I', rights, named);
        EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA fleet GRANT %s ON TABLES TO %I',
                       owner, rights, named);
    END LOOP;
END $roles$;
