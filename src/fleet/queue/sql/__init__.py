"""The queue on an SQL engine: SQLite (`sqlite`, the embedded queue) or PostgreSQL (`postgres`)."""
