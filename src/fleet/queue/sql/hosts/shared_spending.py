"""What hosts tell each other of what their runs spent: the table that day budgets share."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fleet.queue.sql.row_mapping import moment, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Spend

FILE = "hosts.sql"
#: A row that was written earlier may be seen later: its transaction took its time.
_OVERLAP = timedelta(minutes=1)


class RunSpend(Struct, frozen=True, kw_only=True):
    """What one run spent, on the day on which the run began, by the host's clock."""

    task_id: str
    run: int
    day: str
    host: str
    project: str = ""
    account: str = ""
    spend: Spend = Spend()


def share_spends(queue: SqlQueue, spends: Sequence[RunSpend]) -> None:
    """Write what runs of this host spent; the same run twice counts once."""
    now = to_micros(queue.db.now())
    with queue.db.writing():
        for each in spends:
            values = {name: getattr(each, name) for name in RunSpend.__struct_fields__}
            values |= {"spend": msgspec.json.encode(each.spend).decode(), "now": now}
            queue.db.rows(queue.more(FILE)["share_spend"], values)


def spends_elsewhere(
    queue: SqlQueue, host: str, day: str, since: datetime | None
) -> tuple[list[RunSpend], datetime | None]:
    """What other hosts' runs of a day spent, as far as written since a moment; and the moment to
    ask from next time.
    """
    after = to_micros(since - _OVERLAP) if since is not None else 0
    values = {"host": host, "day": day, "after": after}
    rows = queue.db.rows(queue.more(FILE)["spends_elsewhere"], values)
    found: list[RunSpend] = []
    for task_id, run, other, project, account, value, _ in rows:
        try:
            spend = msgspec.json.decode(value, type=Spend)
        except msgspec.MsgspecError:
            continue  # of a later fleet
        found.append(
            RunSpend(
                task_id=task_id, run=run, day=day, host=other, project=project, account=account,
                spend=spend,
            )
        )  # fmt: skip
    return found, max((moment(row[-1]) for row in rows), default=since)
