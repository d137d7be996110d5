"""SqlQueue: the Queue verbs over any SQL engine that keeps the Database protocol."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from fleet.errors import BadInput, FleetError, NotFound, WriteBrokeOff
from fleet.queue.protocol import Draft, Filter, LeaseLost, lost_lease, new_request
from fleet.queue.schedules import ScheduleTable
from fleet.queue.sql import dependencies, named_sql
from fleet.queue.sql.database import Database, SqlRow
from fleet.queue.sql.row_mapping import (
    TASK_SQL,
    is_settled_so,
    request_of,
    request_values,
    settled_row,
    task_of,
    to_columns,
    to_micros,
)
from fleet.schemas import (
    BLOCKING,
    Comment,
    Dependency,
    Edge,
    Lease,
    Offer,
    Released,
    Request,
    Settlement,
    Task,
    Wish,
)
from fleet.schemas.decision import plain_waits
from fleet.schemas.hosts.host import LEFT_TO_OTHERS, SILENT
from fleet.schemas.waits import Waits, note_of

TITLE_LIMIT = 500
#: The file of the Queue verbs.
_OWN = "queue"
#: What a draft and its task have in common.
_SHARED = (set(Draft.__struct_fields__) & set(Task.__struct_fields__)) - {"id", "labels"}


class Undone(Exception):
    """Leaves a transaction that is undone."""


class SqlQueue:
    """One implementation for both engines; what they write differently stands in `dialect`."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.schedules = ScheduleTable(db.rows)
        self._files: dict[str, Mapping[str, str]] = {}
        self._texts: dict[str, str] = {}
        #: Leases whose settlement may have been stored, as task and fence.
        self._unsure: set[tuple[str, int]] = set()

    def statements(self, file: str) -> Mapping[str, str]:
        """The statements of a file by name; any file may include those of queue.sql."""
        if file not in self._files:
            own = {**TASK_SQL, **self.db.dialect} if file == _OWN else self.statements(_OWN)
            self._files[file] = named_sql.load(f"{file}.sql", own)
        return self._files[file]

    def text(self, name: str) -> str:
        """A statement: `claim` is of queue.sql, `hosts.beat` of hosts.sql."""
        text = self._texts.get(name)
        if text is None:
            file, _, bare = name.rpartition(".")
            text = self._texts[name] = self.statements(file or _OWN)[bare]
        return text

    def rows(self, name: str, values: Mapping[str, Any] | None = None) -> list[SqlRow]:
        """Run a statement by name, and fetch the returned rows."""
        return self.db.rows(self.text(name), values)

    @contextmanager
    def writing(self, *, undo: bool) -> Generator[None]:
        """A transaction. With `undo` nothing of it stays: what was read in it is what would be."""
        with suppress(Undone), self.db.writing():
            yield
            if undo:
                raise Undone

    @cached_property
    def prefix(self) -> str:
        """What every new id starts with."""
        return str(self.rows("meta", {"key": "prefix"})[0][0])

    def add(self, draft: Draft) -> Task:
        from fleet.queue.sql.ids import free_id  # only what makes a task needs hashes

        check(draft)
        with self.db.writing():
            now = self.db.now()
            task_id = free_id(self, draft, now)
            labels = set(draft.labels)
            if draft.parent is not None and draft.inherit_labels:
                labels |= set(self.get(draft.parent).labels)
            self.insert(_task_from(draft, task_id, now, tuple(sorted(labels))))
            if draft.parent is not None:
                self.depend(task_id, draft.parent, "parent-child", by=draft.created_by)
            for kind, target in draft.depends_on:
                self.depend(task_id, target, kind, by=draft.created_by)
            for waiting in draft.blocks:
                self.depend(waiting, task_id, by=draft.created_by)
            return self.get(task_id)

    def insert(self, task: Task) -> None:
        """Write a whole task unchanged; inside the caller's transaction."""
        self.rows("insert_task", to_columns(task))
        for label in task.labels:
            self.rows("insert_label", {"id": task.id, "label": label})

    def depend(
        self, task_id: str, target: str, kind: str = "blocks", *, by: str = "", metadata: str = "{}"
    ) -> bool:
        """Have a task depend on another, in the caller's transaction. False: it does already."""
        edge = Dependency(
            task_id=task_id,
            depends_on_id=target,
            type=kind,
            created_at=self.db.now(),
            created_by=by,
            metadata=metadata,
        )
        return dependencies.depend(self, edge)

    def claim(
        self, owner: str, *, count: int = 1, ttl: timedelta, offer: Offer | None = None
    ) -> list[Lease]:
        now = self.db.now()
        until = now + ttl
        values = {
            "owner": owner,
            "now": to_micros(now),
            "until": to_micros(until),
            "count": count,
            "offer": None if offer is None else "\n".join(offer.has),
            "mirrors": None if offer is None else "\n".join(offer.mirrors),
            "unreachable": None if offer is None else "\n".join(offer.unreachable),
            "names_coder": offer is not None and offer.rests,
            "left_since": to_micros(now - LEFT_TO_OTHERS),
            "heard_since": to_micros(now - SILENT),
        }
        rows = self.rows("claim_one" if count == 1 else "claim", values)
        tasks = sorted((task_of(row) for row in rows), key=_queue_order)
        return [Lease(task=task, owner=owner, fence=task.fence, until=until) for task in tasks]

    def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | LeaseLost:
        now = self.db.now()
        until = now + ttl
        values = {
            "id": lease.task.id,
            "owner": lease.owner,
            "fence": lease.fence,
            "now": to_micros(now),
            "until": to_micros(until),
        }
        if not self.db.changed(self.text("renew"), values):
            return self._lost(lease)
        return Lease(task=lease.task, owner=lease.owner, fence=lease.fence, until=until)

    def settle(
        self, settlements: Sequence[tuple[Lease, Settlement]]
    ) -> list[LeaseLost | FleetError | None]:
        if len(settlements) > 1:
            with suppress(FleetError):  # nothing of it is stored: each has its own try below
                return self._settle_together(settlements)
        return [self._settled(lease, settlement) for lease, settlement in settlements]

    def _settle_together(
        self, settlements: Sequence[tuple[Lease, Settlement]]
    ) -> list[LeaseLost | FleetError | None]:
        """End leases in one transaction; an error undoes all of them."""
        try:
            with self.db.writing():
                answers = [self._settle(lease, settlement) for lease, settlement in settlements]
        except WriteBrokeOff:
            self._unsure |= {(lease.task.id, lease.fence) for lease, _ in settlements}
            raise
        self._unsure -= {(lease.task.id, lease.fence) for lease, _ in settlements}
        return [*answers]

    def _settled(self, lease: Lease, settlement: Settlement) -> LeaseLost | FleetError | None:
        key = lease.task.id, lease.fence
        try:
            answer = self._settle(lease, settlement)
        except FleetError as error:
            if isinstance(error, WriteBrokeOff):
                self._unsure.add(key)
            return error
        self._unsure.discard(key)
        return answer

    def _settle(self, lease: Lease, settlement: Settlement) -> LeaseLost | None:
        values = settled_row(lease, settlement, self.db.now())
        declined = settlement.declined if isinstance(settlement, Released) else ""
        if self._store(values, declined) or self._was_settled(lease, values):
            return None
        return self._lost(lease)

    def _store(self, values: Mapping[str, object], declined: str) -> bool:
        """End a lease. `declined`: this host cannot run the task, and no longer sees that task."""
        if not declined:
            return self.db.changed(self.text("settle"), values)
        with self.db.writing():
            if not self.db.changed(self.text("settle"), values):
                return False
            self.rows("insert_decline", {**values, "why": declined})
        return True

    def _was_settled(self, lease: Lease, values: Mapping[str, object]) -> bool:
        """An earlier try of this very settlement was stored, and the answer lost."""
        if (lease.task.id, lease.fence) not in self._unsure:
            return False
        rows = self.rows("get", {"id": lease.task.id})
        return bool(rows) and is_settled_so(task_of(rows[0]), values)

    def request(self, task_id: str, wish: Wish, *, text: str = "", asked_by: str = "") -> Request:
        known = self.get(task_id).id
        request = new_request(known, wish, text=text, asked_by=asked_by, at=self.db.now())
        self.rows("insert_request", request_values(request))
        return request

    def requests(self) -> list[Request]:
        return [request_of(row) for row in self.rows("requests")]

    def answered(self, request: Request) -> None:
        self.rows("delete_request", {"id": request.id})

    def reopen_task(
        self,
        task: Task,
        *,
        by: str,
        note: str = "",
        waits: Waits | None = None,
        anew: bool = False,
    ) -> Task:
        from fleet.queue.sql.edit_task import Change, edit

        waits = waits and plain_waits(waits)
        change = Change(
            status="open" if waits is None else "blocked",
            assignee="",
            append_notes=note if waits is None else note or note_of(waits, task.id),
            waits=waits,
            fields={"not_before": None, **({"attempts": 0} if anew else {})},
            any_host=anew,
            if_status=task.status,
            if_fence=task.fence,
        )
        return edit(self, task.id, change, actor=by)

    def close_task(self, task: Task, *, by: str, reason: str) -> Task:
        from fleet.queue.sql.edit_task import Change, edit

        change = Change(
            status="closed",
            fields={"close_reason": reason},
            if_status=task.status,
            if_fence=task.fence,
        )
        return edit(self, task.id, change, actor=by)

    def add_metadata(self, task_id: str, metadata: dict[str, Any]) -> None:
        from fleet.queue.sql.edit_task import Change, edit

        edit(self, task_id, Change(merge_metadata=metadata), actor="")

    def counts(self) -> dict[str, int]:
        return {str(status): int(n) for status, n in self.rows("by_status")}

    def get(self, task_id: str) -> Task:
        rows = self.rows("get", {"id": task_id})
        if not rows:
            raise NotFound(
                f'no issue found matching "{task_id}"', hint="List what there is: fleet bd list"
            )
        return task_of(rows[0])

    def blockers(self, task_id: str) -> Sequence[Task]:
        from fleet.queue.sql.dependencies import neighbours

        found = neighbours(self, task_id, "down")
        return [task for task, edge in found if edge in BLOCKING and task.status != "closed"]

    def edges(self, ids: Sequence[str]) -> Sequence[Edge]:
        from fleet.queue.sql.tracker.related import edges_from, edges_to

        found = {
            Edge(each.task_id, each.depends_on_id, each.type)
            for asked in (edges_from, edges_to)
            for edges in asked(self, ids).values()
            for each in edges
        }
        return sorted(found)

    def comments(self, task_id: str) -> Sequence[Comment]:
        from fleet.queue.sql.tracker.related import comments_of

        return comments_of(self, [task_id]).get(task_id, ())

    def find(self, want: Filter) -> Sequence[Task]:
        where: list[str] = []
        values: dict[str, object] = {}

        def one_of(column: str, items: Sequence[str]) -> None:
            names = [f"{column}_{n}" for n in range(len(items))]
            values.update(zip(names, items, strict=True))
            where.append(f"tasks.{column} IN ({', '.join(':' + name for name in names)})")

        if want.ready:
            where.append(self.text("ready"))
            values["now"] = to_micros(self.db.now())
        if want.statuses:
            one_of("status", want.statuses)
        since = want.closed_since
        if since is not None:
            where.append(self.text("closed_since"))
            values["closed_since"] = to_micros(since)
        whole = want.include_closed or want.ids or want.spec is not None or since is not None
        if "closed" not in want.statuses and not whole:
            where.append(self.text("not_closed"))
        if want.ids:
            one_of("id", want.ids)
        if want.spec is not None:
            where.append(self.text("of_spec"))
            values |= {"spec": want.spec, "spec_part": f"{want.spec}#"}
        if want.leased_by is not None:
            where.append(self.text("leased_by"))
            values["leased_by"] = want.leased_by
        parts = [self.text("select_tasks")]
        if where:
            parts.append(f"WHERE {' AND '.join(where)}")
        parts.append(self.text("queue_order"))
        if want.limit is not None:
            parts.append("LIMIT :limit + 0")
            values["limit"] = want.limit
        return [task_of(row) for row in self.db.rows("\n".join(parts), values)]

    def wait(self, timeout: timedelta) -> bool:
        return self.db.wait(timeout)

    def close(self) -> None:
        self.db.close()

    def _lost(self, lease: Lease) -> LeaseLost:
        rows = self.rows("get", {"id": lease.task.id})
        if not rows:
            return lost_lease(lease, None, None, 0)
        task = task_of(rows[0])
        called = self._host_name(task.lease_owner) if task.lease_owner else ""
        return lost_lease(lease, task.status, task.lease_owner, task.fence, called=called)

    def _host_name(self, owner: str) -> str:
        """What people call the host that holds leases under this name; else the name itself."""
        rows = self.rows("hosts.host_name", {"id": owner})
        return f"host {rows[0][0]}" if rows else owner

    def exists(self, task_id: str) -> bool:
        return bool(self.rows("exists", {"id": task_id}))


def check(draft: Draft) -> None:
    """Refuse what no queue could hold."""
    if not draft.title.strip():
        raise BadInput("title is required", hint='Give one: fleet bd create "Fix the login page"')
    if len(draft.title) > TITLE_LIMIT:
        raise BadInput(
            f"title must be {TITLE_LIMIT} characters or less (got {len(draft.title)})",
            hint="Put the long text into --description.",
        )
    if draft.priority not in range(5):
        raise BadInput(f"priority must be between 0 and 4 (got {draft.priority})")


def _queue_order(task: Task) -> tuple[int, datetime, str]:
    return (task.priority, task.created_at, task.id)


def _task_from(draft: Draft, task_id: str, now: datetime, labels: tuple[str, ...]) -> Task:
    put_off = draft.defer_until is not None and draft.defer_until > now
    fields = {name: getattr(draft, name) for name in _SHARED}
    return Task(
        id=task_id,
        status="deferred" if put_off else "open",
        created_at=now,
        updated_at=now,
        labels=labels,
        **fields,
    )
