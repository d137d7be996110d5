-- Roles of a shared queue with the least rights, for psql and the owner of the queue's database.
-- Before this, the owner opens the queue once (fleet init --queue postgresql://owner@…), which makes
-- the schema; later the owner's fleet migrates it. Hosts and viewers get logins of their own:
--     CREATE ROLE alpha LOGIN PASSWORD '…' IN ROLE fleet_host;
--     CREATE ROLE carol LOGIN PASSWORD '…' IN ROLE fleet_viewer;

-- Works on tasks: everything but the schema itself.
CREATE ROLE fleet_host NOLOGIN;
GRANT USAGE ON SCHEMA fleet TO fleet_host;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fleet TO fleet_host;
ALTER DEFAULT PRIVILEGES IN SCHEMA fleet GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO fleet_host;

-- Looks only.
CREATE ROLE fleet_viewer NOLOGIN;
GRANT USAGE ON SCHEMA fleet TO fleet_viewer;
GRANT SELECT ON ALL TABLES IN SCHEMA fleet TO fleet_viewer;
ALTER DEFAULT PRIVILEGES IN SCHEMA fleet GRANT SELECT ON TABLES TO fleet_viewer;
