"""What was spent, by day: `spent/<day>.jsonl` in the home, a line for each run that is over.

A run's line is written before its receipt and outcome. After a crash in between, the next
supervisor settles the run again and writes the same line again; the last line of a run counts. The
lines stay in the file and memory keeps their sums, so that a day costs the same after any number of
runs. A file that is missing, damaged or older than the last boot (its last lines may be gone) is
rewritten from the receipts.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fleet.errors import InvalidTask
from fleet.files.append_file import append
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.home import Home
from fleet.processes import process_identity
from fleet.runs import receipt_json
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import Run, began_at, newest_first
from fleet.schemas import Receipt, Spend, typed
from fleet.spending.budgets import day_of

FOLDER = "spent"
#: How many days are kept, counted by their names, since the clock may be wrong.
KEPT = 40
_LARGEST = 64 << 20
#: Files of a day's runs may bear earlier times, if the clock was set.
_SLACK = timedelta(hours=36)


class SpendEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: what a run spent, or a warning that was given; the first line names the boot."""

    boot: str = ""
    task: str = ""
    run: int = 0
    #: The directory that the task was made for.
    project: str = ""
    account: str = ""
    spend: Spend = Spend()
    #: A warning that was given, so that it is given once.
    warning: str = field(default="", name="told")


class Day:
    """What the runs that began on one day spent: sums, and the warnings that were given."""

    def __init__(self, entries: Iterable[SpendEntry] = ()) -> None:
        self._sums: dict[tuple[str, str], Spend] = {}
        self.warnings: set[str] = set()
        #: The lines of runs on other hosts, which tell of a run more than once.
        self.elsewhere: dict[tuple[str, int], SpendEntry] = {}
        for entry in {(each.task, each.run, each.warning): each for each in entries}.values():
            self.add(entry)

    def add(self, entry: SpendEntry) -> None:
        """Count the line of a run that has none in the sums yet, or a warning."""
        if entry.warning:
            self.warnings.add(entry.warning)
        elif entry.task:
            _count(self._sums, entry)

    def sums(self) -> Mapping[tuple[str, str], Spend]:
        """What was spent, by directory and account."""
        if not self.elsewhere:
            return self._sums
        found = dict(self._sums)
        for entry in self.elsewhere.values():
            _count(found, entry)
        return found


def _count(sums: dict[tuple[str, str], Spend], entry: SpendEntry) -> None:
    key = (entry.project, entry.account)
    sums[key] = sums.get(key, Spend()) + entry.spend


class DayLedger:
    """The days of one home; a reader (`keeps` is False) writes nothing."""

    def __init__(self, home: Home, *, keeps: bool) -> None:
        self._home = home
        self._keeps = keeps
        self._days: dict[str, Day] = {}

    def day(self, name: str) -> Day:
        """One day, from memory, from the day's file, or from the receipts."""
        if name not in self._days:
            entries = self._read(name)
            if entries is None:
                entries = list(_from_receipts(self._home, name))
                if self._keeps:
                    with suppress(OSError):  # the next supervisor reads the receipts again
                        self._write(name, entries)
            while len(self._days) > 2:  # a clock that jumps over midnight needs two
                del self._days[next(iter(self._days))]
            self._days[name] = Day(entries)
        return self._days[name]

    def record(
        self, receipt: Receipt, began: datetime, *, again: bool = True
    ) -> tuple[str, SpendEntry]:
        """Write what a run spent that ended, on the day on which the run began: by the receipt, or
        else by `began`. Returns the day and what was written. Raises OSError.

        `again` is False where the run has no line yet. Any other run has its line replaced.
        """
        entry, name = _entry_of(receipt), day_of(receipt.started_at or began)
        self._append(name, entry)
        if again:  # the sums may hold an earlier line of the run: the file is read again
            known = self._days.pop(name)
            self.day(name).elsewhere = known.elsewhere
        else:
            self.day(name).add(entry)
        return name, entry

    def has(self, name: str, task_id: str, run: int) -> bool:
        """Whether a run has its line in the file of a day."""
        return any((each.task, each.run) == (task_id, run) for each in self._read(name) or ())

    def add_elsewhere(self, name: str, entry: SpendEntry) -> None:
        """Count what a run on another host spent; the host's home has the line."""
        self.day(name).elsewhere[entry.task, entry.run] = entry

    def warn_once(self, name: str, what: str) -> bool:
        """Whether a warning is to be given: once a day, over restarts."""
        if what in self.day(name).warnings:
            return False
        with suppress(OSError):  # a full disk: the next supervisor may say it again
            self._append(name, SpendEntry(warning=what))
        self.day(name).warnings.add(what)
        return True

    def _append(self, name: str, entry: SpendEntry) -> None:
        self.day(name)  # a file that cannot be relied on is rewritten before it gets a line
        data = msgspec.json.encode(entry) + b"\n"
        path = self._path(name)
        try:
            append(path, data)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            append(path, data)

    def _path(self, name: str) -> Path:
        return self._home.path / FOLDER / f"{name}.jsonl"

    def _read(self, name: str) -> list[SpendEntry] | None:
        """The lines of a day's file; None if the file cannot be relied on."""
        try:
            data = read_bounded(self._path(name), _LARGEST)
            lines = (data or b"").splitlines(keepends=True)
            if not lines or not lines[-1].endswith(b"\n"):
                return None
            found = [typed.decode(line, SpendEntry) for line in lines]
        except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found[0].boot == process_identity.boot_id() else None

    def _write(self, name: str, entries: list[SpendEntry]) -> None:
        path = self._path(name)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        whole = [SpendEntry(boot=process_identity.boot_id()), *entries]
        lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in whole)
        write_atomically(path, lines, durable=False)
        for old in sorted(path.parent.glob("*.jsonl"))[:-KEPT]:
            old.unlink(missing_ok=True)


def _entry_of(receipt: Receipt) -> SpendEntry:
    """The line of a run."""
    return SpendEntry(
        task=receipt.task_id,
        run=receipt.run,
        project=receipt.project,
        account=receipt.account,
        spend=receipt.spend,
    )


def _from_receipts(home: Home, day: str) -> Iterator[SpendEntry]:
    """Every run that began on a day, by receipt.

    Tasks without a run since then cost one stat each.
    """
    since = (datetime.combine(date.fromisoformat(day), time.min) - _SLACK).timestamp()
    try:
        tasks = list(os.scandir(home.tasks))
    except FileNotFoundError:
        return
    for task in tasks:
        if not _touched(f"{task.path}/runs", since):
            continue
        for run in newest_first(Path(task.path)):
            if _touched(str(run.path), since):
                yield from _of_run(run, task.name, day)


def _of_run(run: Run, task_id: str, day: str) -> Iterator[SpendEntry]:
    receipt = receipt_json.read(run)
    if receipt is not None:
        began = receipt.started_at or began_at(run)
        if began is not None and day_of(began) == day:
            yield _entry_of(receipt)
        return
    ending = read_ending(run)  # the run was stopped without a supervisor
    if ending is not None and day_of(began_at(run) or ending.at) == day:
        spec = run.known_spec()
        cwd = spec.cwd if spec else ""
        yield SpendEntry(task=task_id, run=run.number, project=cwd, spend=ending.spend)


def _touched(path: str, since: float) -> bool:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime >= since  # noqa: PTH116 - of many
    except OSError:
        return False
