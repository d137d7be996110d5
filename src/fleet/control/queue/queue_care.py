"""`fleet queue`: how the queue of a home stands, the copies, and putting a copy back."""

import os
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet.config import Config
from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.processes.supervisor_lock import sole_supervisor, supervisor_of
from fleet.queue import backups, doorbell, open_queue
from fleet.queue.backups import Backup
from fleet.queue.identity import BEADS, EMBEDDED, LEDGER, forget, known_ids, new_id, remember
from fleet.queue.restore_file import Restored, RunSeen, fence, restore_file
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.runs.run_id import RunId
from fleet.travel.missing_tasks import MissingTask, missing_tasks

#: What a user has to copy himself, by the kind of queue.
OWN_BACKUP = {
    EMBEDDED: "fleet copies it once a day; copy the home to another disk yourself",
    BEADS: "fleet copies ledger.db, its leases; the tasks are bd's: copy .beads, or use a Dolt"
    " remote or bd export",
    "postgresql": "its server's: pg_dump, or the server's own archive; fleet copies nothing",
}


class QueueCondition(Struct, frozen=True, kw_only=True):
    """How a home's queue stands."""

    #: embedded, beads or postgresql.
    kind: str
    #: The id that the home knows; empty if no queue was opened yet.
    identity: str
    #: Why the queue cannot be used; empty: the queue can be used.
    problem: str
    hint: str
    #: How the user's data is backed up.
    backup: str
    #: The copies in the home, newest first.
    copies: tuple[Backup, ...]
    #: Tasks of this home that a queue which was set back does not know.
    missing: tuple[MissingTask, ...] = ()


def file_of(config: Config) -> str | None:
    """The name of the SQLite file behind the configured queue; None for a PostgreSQL server."""
    return {"embedded": EMBEDDED, "beads": LEDGER}.get(config.queue)


def condition(home: Home, config: Config) -> QueueCondition:
    """The queue's state, identity and copies; a failing queue is an answer, not an error."""
    problem = hint = ""
    missing: tuple[MissingTask, ...] = ()
    try:
        with closing(open_queue(home.path, config)) as queue:
            missing = missing_tasks(home, queue) if config.shares_queue else ()
    except FleetError as error:
        problem, hint = error.message, error.hint
    kind = config.queue.partition(":")[0].replace("postgres", "postgresql", 1)[:10]
    name = file_of(config)
    return QueueCondition(
        kind=kind,
        identity=_known_id(home, config),
        problem=problem,
        hint=hint,
        backup=OWN_BACKUP[kind],
        copies=tuple(backups.backups(home.path, name)) if name else (),
        missing=missing,
    )


def back_up(home: Home, config: Config, now: datetime) -> Backup:
    """Copy the queue now. Raises Refused where the copy is not fleet's to make."""
    name = file_of(config)
    if name is None:
        raise Refused("a PostgreSQL queue is not copied by fleet", hint="Use pg_dump.")
    open_queue(home.path, config).close()  # a queue that is not the home's own is not copied
    return backups.back_up(home.path, name, now, "asked")


def chosen_copy(home: Home, config: Config, file: str | None) -> Path:
    """The copy to put back: the named one, or the newest that is whole. Raises FleetError."""
    name = file_of(config)
    if name is None:
        hint = "Restore it on its server, from pg_dump or the server's archive."
        raise Refused("a PostgreSQL queue is not fleet's to restore", hint=hint)
    if file is not None:
        path = Path(file).expanduser().absolute()
        if not path.is_file():
            path = home.path / backups.FOLDER / file
        if not path.is_file():
            raise NotFound(f"there is no file {file}", hint="See the copies: fleet queue status")
        if damage := backups.damage_of(path):
            raise BadInput(
                f"{path} is no whole copy of a queue: {damage}",
                hint="Name another one; the copies: fleet queue status",
            )
        return path
    for copy in backups.backups(home.path, name):
        if not backups.damage_of(copy.path):
            return copy.path
    raise NotFound(
        "there is no copy of this queue",
        hint="Give a file, or begin a new queue beside the tasks: fleet queue accept",
    )


def restore(home: Home, config: Config, copy: Path, now: datetime) -> Restored:
    """Put a copy in the place of the queue. Refused while a supervisor works with a sound queue."""
    name = file_of(config)
    assert name is not None
    known = known_ids(home.path).get(name, "")
    found = backups.identity_of(copy)
    if known and found and known != found:
        raise Refused(
            f"{copy} is a copy of another queue ({found[:8]}, not {known[:8]})",
            hint="If it is meant, put it there yourself, then: fleet queue accept",
        )
    with ExitStack() as held:
        holder = supervisor_of(home)
        if holder is None:
            held.enter_context(sole_supervisor(home))  # none begins meanwhile
        elif not condition(home, config).problem:
            raise Refused(
                f"a supervisor works with this queue (process {holder.who.pid})",
                hint="End the supervisor first, and with it its agents: fleet shutdown",
            )
        owner = owner_file.read_or_make(home)
        identity = known or found or new_id()
        done = restore_file(
            home.path, name, copy, identity=identity, owner=owner, runs=runs_seen(home), now=now
        )
        remember(home.path, name, identity)
        open_queue(home.path, config).close()  # brought up to date, and known to work
    text = f"the queue was restored from {copy}"
    Log(home.logging, lambda: now).say("queue_restored", text)
    doorbell.ring(home.path)
    return done


def accept(home: Home, config: Config, now: datetime) -> bool:
    """Take what stands at the queue's place for the home's own, and make a new one if nothing does.

    True if a new one was made.
    """
    if supervisor_of(home) is not None:
        raise Refused(
            "a supervisor runs on this home",
            hint="End the supervisor first, whose leases would go: fleet shutdown",
        )
    known = known_ids(home.path)
    name = file_of(config)
    for queue in {BEADS, LEDGER} if config.queue == "beads" else {name or _address(config)}:
        if queue in known:
            forget(home.path, queue)
    new = name is not None and not (home.path / backups.FILES[name]).exists()
    open_queue(home.path, config, may_make=True).close()
    if new and name == LEDGER:  # no fence may begin anew below that of a run that there was
        owner, ids = owner_file.read_or_make(home), known_ids(home.path)
        fence(home.path / backups.FILES[name], name, ids[name], owner, runs_seen(home), now)
    return new


def runs_seen(home: Home) -> list[RunSeen]:
    """The latest run of each task that has one, by directory."""
    seen: list[RunSeen] = []
    for entry in sorted(os.listdir(home.tasks)) if home.tasks.is_dir() else ():  # noqa: PTH208
        try:
            run = latest_run(home.task(entry))
            spec = run.known_spec() if run is not None else None
            run_id = RunId.parse(spec.id) if spec is not None else None
            if run is not None and run_id is not None and run_id.task == entry:
                settled = read_ending(run) is not None
                seen.append(RunSeen(task_id=entry, fence=run_id.fence, settled=settled))
        except (FleetError, OSError):
            continue  # a damaged record costs its task the take-over, not the others
    return seen


def _known_id(home: Home, config: Config) -> str:
    ids = known_ids(home.path)
    return ids.get(file_of(config) or _address(config), "")


def _address(config: Config) -> str:
    from fleet.queue.sql.postgres.error_messages import address_of

    return address_of(config.queue)


def roles_sql() -> str:
    """The statements that make roles for the hosts and viewers of a PostgreSQL queue."""
    from fleet.queue.sql.postgres.role_rights import roles_sql as text

    return text()
