"""What the role of a connection may do with the queue, held against what a host needs."""

from pathlib import Path

from msgspec import Struct

from fleet.queue.sql import named_sql
from fleet.queue.sql.sql_queue import SqlQueue

_FILE = Path(__file__).parents[1] / "roles.sql"
_SQL = named_sql.load("role_rights.sql")


class RoleRights(Struct, frozen=True, kw_only=True):
    """The rights of one role."""

    role: str
    #: What a host needs and the role lacks, as SQL names it: `UPDATE on tasks`.
    missing: tuple[str, ...] = ()
    #: The role may read every table.
    may_look: bool = True


def role_rights(queue: SqlQueue) -> RoleRights:
    """What the role of this connection may do."""
    ((role,),) = queue.db.rows(_SQL["role"])
    lacking = queue.db.rows(_SQL["missing_rights"])
    return RoleRights(
        role=str(role),
        missing=tuple(f"{right} on {table}" for table, right in lacking),
        may_look=not any(right == "SELECT" for _, right in lacking),
    )


def roles_sql() -> str:
    """The statements that make roles for hosts and viewers."""
    return _FILE.read_text(encoding="utf-8")
