"""Forward migration of the queue's schema: numbered files, a backup first, and never backwards."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fleet.errors import SchemaTooNew
from fleet.queue.sql.database import Database

#: The version of the schema that has a column for why a task waits.
WITH_WAITS = 8
_FOLDER = Path(__file__).parent / "migrations"


def steps() -> Sequence[str]:
    """The scripts that lead from nothing to today's schema; step N makes version N."""
    files = sorted(file for file in _FOLDER.iterdir() if file.suffix == ".sql")
    return [file.read_text(encoding="utf-8") for file in files]


def migrate(
    db: Database,
    script: Callable[[str], None],
    backup: Callable[[int], None],
    todo: Sequence[str] | None = None,
    home: Path | None = None,
) -> None:
    """Bring the schema up to date in one transaction; refuse one from a later fleet. Of a queue
    with tasks, `home` tells how the last runs ended.
    """
    todo = steps() if todo is None else todo
    if version(db) == len(todo):
        return
    with db.writing():
        have = version(db)  # another process may have come first
        if have > len(todo):
            raise SchemaTooNew(
                f"the queue has schema version {have}, and this fleet knows {len(todo)}",
                hint="A later fleet has opened the queue. Upgrade this one; nothing was changed.",
            )
        if 0 < have < len(todo):
            backup(have)
        for step in todo[have:]:
            script(step)
        if 0 < have < WITH_WAITS <= len(todo):
            from fleet.queue.sql.convert_waits import convert_waits  # once in a queue's life

            convert_waits(db, home)
        db.rows(
            "INSERT INTO meta (key, value) VALUES ('schema_version', :v)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"v": str(len(todo))},
        )


def version(db: Database) -> int:
    """The schema's version; 0 for an empty database, whose first user makes the table `meta`."""
    rows = db.rows("SELECT value FROM meta WHERE key = 'schema_version'")
    return int(rows[0][0]) if rows else 0
