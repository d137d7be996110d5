"""How a task's runs ended: `runs/<n>/outcome.json`, with counts over the runs so far.

The file is written once, before the task is settled in the queue. A supervisor that finds one after
a crash settles by the file and counts nothing twice. `.failures` repeats the count for people.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.seals import SealedRecord
from fleet.runs.run_directory import Run, latest_run, newest_first
from fleet.schemas import (
    Blocked,
    ContextFull,
    Finished,
    Lost,
    NeedsHuman,
    Outcome,
    Released,
    Settlement,
    Spend,
    Stopped,
    Usage,
    bears_out,
)
from fleet.schemas.budget import spend_of
from fleet.schemas.decision import Decision
from fleet.schemas.noted_waits import waits_in_note

FILE = "outcome.json"
FAILURES = ".failures"
#: After `fleet retry`: the number of the run up to which attempts are forgiven, and after `--fresh`
#: that of the run up to which all is forgotten.
FORGIVEN = ".forgiven"
_LARGEST = 1 << 20


class Ending(Struct, frozen=True, kw_only=True):
    """The content of outcome.json."""

    outcome: Outcome
    settlement: Settlement
    counts: bool
    why: str
    progress: bool
    at: datetime
    #: The fence of the lease that the ending was decided under.
    fence: int | None = None
    #: The counts after this run: failed attempts, and how many runs in a row up to this one ended
    #: with a full context and without progress, or never started.
    attempts: int = 0
    full_contexts: int = 0
    never_started: int = 0
    #: What the run used, as far as the CLI told.
    tokens: int = 0
    cost_usd: float | None = None
    estimated_usd: float | None = None
    #: What the whole task had used after this run; None if it was not added up.
    spent: Spend | None = None
    tool_calls: int = 0
    session_id: str = ""
    #: The rules of evidence and scope that the run broke.
    broke: tuple[str, ...] = ()
    #: The coder and account of the session, and whether an earlier run began the session.
    coder: str = ""
    account: str = ""
    resumed: bool = False
    #: What the session had used in all, for CLIs that go on counting in a resumed session.
    session_usage: Usage = Usage()
    #: The tool calls that were open when the run was cut off.
    cut_off: tuple[str, ...] = ()
    #: The calls that were refused to this run and to earlier runs of the task, the latest last.
    denied: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        old = self.settlement
        if isinstance(old, Blocked) and old.note:
            finished = isinstance(self.outcome, Finished) and not self.counts and not self.broke
            asked = finished or isinstance(self.outcome, NeedsHuman)
            waits = waits_in_note(old.note, asked=asked)
            structs.force_setattr(self, "settlement", Blocked(waits=waits))

    @property
    def never_spoke(self) -> bool:
        """The run was stopped, or lost, before the CLI that resumed a session printed a line of it:
        the session is as the run before left it.
        """
        cut_off = isinstance(self.outcome, Stopped | Lost)
        return self.resumed and not self.session_id and cut_off

    @property
    def spend(self) -> Spend:
        """What this run used."""
        return spend_of(tokens=self.tokens, reported=self.cost_usd, estimated=self.estimated_usd)

    @property
    def decision(self) -> Decision:
        return Decision(settlement=self.settlement, counts=self.counts, why=self.why)


_RECORD = SealedRecord(FILE, Ending, limit=_LARGEST)


class History(Struct, frozen=True, kw_only=True):
    """The counts over a task's runs so far, and the last ending."""

    attempts: int = 0
    full_contexts: int = 0
    never_started: int = 0
    last: Ending | None = None

    def after(
        self, outcome: Outcome, decision: Decision, *, started: bool, progress: bool
    ) -> "History":
        """The counts after one more run. A counted failure or progress sets the rows back to 0."""
        failed = decision.counts and not bears_out(decision.settlement)
        full = self.full_contexts + isinstance(outcome, ContextFull)
        return History(
            attempts=self.attempts + failed,
            full_contexts=0 if decision.counts or progress else full,
            never_started=0 if started else self.never_started + 1,
        )


def read_ending(run: Run) -> Ending | None:
    """How a run ended, if that was decided. A damaged record counts as none. To be shown."""
    return _RECORD.read(run.path)


def believed_ending(run: Run) -> Ending | None:
    """The run's ending if fleet wrote it: what a decision may rest on."""
    return _RECORD.believed(run.path, run.number)


def write_ending(run: Run, ending: Ending, *, sealed: bytes = b"") -> None:
    """Write the run's ending; `sealed` is the encoded ending if sealed already."""
    _RECORD.write(run.path, ending, run.number, sealed=sealed)
    failures = run.task_dir / FAILURES
    if ending.attempts or failures.exists():  # no file means 0
        write_atomically(failures, f"{ending.attempts}\n".encode(), durable=False)


def history(task_dir: Path, before: int | None = None) -> History:
    """The counts after the latest run, or after the latest run before number `before`.

    A task that was closed or blocked and runs again was put back by a person: its counts start at
    0, as after `forgive`. One that begins afresh has no history.
    """
    forgiven, forgotten = _forgiven(task_dir)
    for run in newest_first(task_dir, before=before):
        if run.number <= forgotten:
            break
        ending = believed_ending(run)
        if ending is None:
            continue
        if not isinstance(ending.settlement, Released) or run.number <= forgiven:
            return History(last=ending)
        return History(
            attempts=ending.attempts,
            full_contexts=ending.full_contexts,
            never_started=ending.never_started,
            last=ending,
        )
    return History()


def last_to_speak(task_dir: Path) -> tuple[Run, Ending] | None:
    """The latest run with its ending, without those that never spoke: what the next run follows.
    None: the next run is the first, or begins afresh.
    """
    _, forgotten = _forgiven(task_dir)
    for run in newest_first(task_dir):
        if run.number <= forgotten:
            break
        ending = believed_ending(run)
        if ending is not None and not ending.never_spoke:
            return run, ending
    return None


def was_put_off(task_dir: Path, not_before: datetime | None) -> bool:
    """The task waits for a limit or an account, and not because an attempt failed."""
    if not_before is None:
        return False
    last = history(task_dir).last
    own = last.settlement.not_before if last and isinstance(last.settlement, Released) else None
    return last is None or not last.counts or own != not_before


def spent_before(task_dir: Path, before: int | None = None) -> Spend:
    """The spend of all runs of a task, or of those before number `before`, whatever
    was forgiven.
    """
    total = Spend()
    for run in newest_first(task_dir, before=before):
        ending = believed_ending(run)
        if ending is not None and ending.spent is not None:
            return total + ending.spent
        total += ending.spend if ending is not None else Spend()
    return total


def attempts_before(run: Run, *, with_questions: bool = False) -> Iterator[Run]:
    """Earlier runs of the same series, latest first.

    A series begins after a run that closed or blocked the task, or that was forgiven; with
    `with_questions` a run that asked a person something belongs to it.
    """
    forgiven, _ = _forgiven(run.task_dir)
    for before in newest_first(run.task_dir, before=run.number):
        ending = believed_ending(before)
        if ending is not None:
            asked = with_questions and isinstance(ending.outcome, NeedsHuman)
            of_series = asked or isinstance(ending.settlement, Released)
            if before.number <= forgiven or not of_series:
                return
            yield before


def forgive(task_dir: Path, *, fresh: bool = False) -> None:
    """Set the counts back to 0: a person wants the task tried again. `fresh`: the next run knows
    nothing of the runs so far.
    """
    run = latest_run(task_dir)
    if run is not None:
        forgotten = run.number if fresh else _forgiven(task_dir)[1]
        seals.write_sealed(task_dir, FORGIVEN, f"{run.number} {forgotten}\n".encode())
        write_atomically(task_dir / FAILURES, b"0\n", durable=False)


def _forgiven(task_dir: Path) -> tuple[int, int]:
    """The two numbers of FORGIVEN; 0: no run. An earlier fleet wrote the first alone."""
    words = seals.read_sealed(task_dir, FORGIVEN, _LARGEST).split()
    if not words or not all(word.isdigit() for word in words):
        return 0, 0
    return int(words[0]), int(words[1]) if len(words) > 1 else 0
