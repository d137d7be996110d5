"""`tasks/<id>/landing.json`: how far the accepted work of a task is on the way to the branch.

The record is sealed: what an agent writes in its place is shown, and never acted on. A file of the
task's name in `landings` of the home stands for each record that is not at its end, so that the
lander need not look through all tasks.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.files.seals import SealedRecord
from fleet.home import Home
from fleet.schemas import BegunMerge
from fleet.schemas.policy import LandHow, LandTo, RecordedHow

FILE = "landing.json"
#: In the home: one empty file for each task whose landing is not at its end.
FOLDER = "landings"
_LOCK = "landing.lock"
#: Characters of what a verify command printed that the record keeps.
OUTPUT_KEPT = 8000

#: `waiting`: for the train, once the candidate is made. `testing`: in the train. `asks`: for a
#: person; `why` says what for. `ahead`: the line has the work, and a checkout keeps the branch from
#: it (`why`). `landed`: the branch has the work. `back`: sent back to the agent. `held`: a person
#: held the work.
LandingState = Literal["waiting", "asks", "testing", "ahead", "landed", "back", "held"]
#: What sent a task back: files in conflict, a verify command on the fold, a rule of landing, a
#: person's review, or checks of its pull request.
WhyBack = Literal["conflict", "verify", "rules", "review", "checks"]
#: States in which the lander has work to do; in the others an agent or a person has.
LANDERS: frozenset[LandingState] = frozenset({"waiting", "testing"})


class LandedWork(Struct, frozen=True, kw_only=True):
    """A task that landed while another one was at work."""

    task_id: str
    title: str


class LandedAs(Struct, frozen=True, kw_only=True):
    """The receipt of a landing."""

    #: The commit on the line that holds the work, with parents and tree.
    commit: str
    parents: tuple[str, ...] = ()
    tree: str = ""
    #: What proves that the line holds the work: `ancestry`, or `patch` for what was squashed or
    #: rebased. Without one of these the task's branch stays: `train` or `forge` say so alone.
    proof: str = "ancestry"
    #: The commands that passed on the value that the line took; none: it landed unchecked.
    checks: tuple[str, ...] = ()
    #: What the line stood at before, and the value that it took; other tasks may lie between.
    line_before: str = ""
    line_after: str = ""
    at: datetime | None = None
    #: The remote branch that was read back at this commit, and the address of the pull request.
    pushed: str = ""
    pr: str = ""
    #: The commit that took the work off the line again; empty: it is there.
    reverted: str = ""


class Landing(Struct, frozen=True, kw_only=True):
    """The content of landing.json."""

    state: LandingState
    #: Why it asks, is held, went back, or is not on the branch yet, in words for a person.
    why: str = ""
    why_back: WhyBack | None = None
    #: The top of the working tree that the task names, and the branch to land on.
    repository: str
    into: str
    #: The run whose claim holds, and the commit that the task's clone was made from.
    run: int
    base: str
    #: The commit of the line that fleet had the agent merge last, or the work of the task that
    #: landed before; empty: none.
    merged: str = ""
    #: The tree that the run verified, and the candidate: a commit with exactly that tree. Empty
    #: until the work is brought home.
    tree: str
    commit: str = ""
    #: The verify commands passed on the tree, and which; else the claim is unchecked.
    checked: bool = False
    checks: tuple[str, ...] = ()
    #: What a person has to look at before the work lands, as the verification found it.
    asks: tuple[str, ...] = ()
    title: str = ""
    #: What the task is closed with once its work has landed.
    reason: str = ""
    how: RecordedHow = "merge"
    to: LandTo = "branch"
    #: How often the task was sent back.
    tries: int = 0
    #: The person who approved the work; empty: no approval was needed, or none is given yet.
    approved_by: str = ""
    #: Since when it is in this state.
    at: datetime
    #: Of one that was sent back: the files in conflict, the end of what verify printed, and what
    #: landed since its clone was made.
    conflict: tuple[str, ...] = ()
    output: str = ""
    against: tuple[LandedWork, ...] = ()
    #: The merge that the agent is to finish; None: not begun.
    merge: BegunMerge | None = None
    #: The rules of landing that a claim broke since, how often that was, and the last run's number.
    refused: str = ""
    refusals: int = 0
    refused_run: int = 0
    #: The host that lands the work, if not the host that ran the task; empty: this host.
    host: str = ""
    #: Of work that asks since the line alone fails: the line's commit. The work is tried again when
    #: the line has another commit.
    red_line: str = ""
    landed: LandedAs | None = None

    @property
    def lands_as(self) -> LandHow:
        """How the work lands: what an earlier fleet was to rebase is merged."""
        return "squash" if self.how == "squash" else "merge"

    @property
    def is_back(self) -> bool:
        """The agent is to merge what landed since: the work was sent back, or left to a person
        after that, who opened the task again.
        """
        could_not_land = self.why_back in ("conflict", "verify", "rules", "checks")
        # A person's own review has no output: what reviewers of a pull request said has.
        remarked = self.why_back == "review" and bool(self.output)
        return (could_not_land or remarked) and self.state in ("back", "asks")

    @property
    def starts_from(self) -> str:
        """The commit that fleet gave the work to start from, or had it merge last."""
        return self.merged or self.base

    def merged_since(self, base: str) -> str:
        """What the next work from `base` has of the line by this landing; empty: nothing."""
        if self.base != base:
            return ""
        if self.state in ("ahead", "landed"):
            return self.commit
        return self.merge.line if self.merge is not None and self.merge.ready else self.merged

    def words(self, tries: int = 0) -> str:
        """How far the landing is, for people; `tries`: how often the work may go back, if known."""
        into = self.into or "a branch"
        shown = "checked" if self.checked else "unchecked"
        if self.host and self.state not in ("landed", "back"):
            return f"{shown}, another host lands it on {into}"
        match self.state:
            case "waiting":
                return f"{shown}, waits to land on {into}"
            case "testing":
                return f"{shown}, landing on {into}"
            case "ahead":
                return f"{shown}, to land on {into}"
            case "asks" if self.red_line:
                return f"{shown}, waits until {into} itself passes"
            case "asks" if self.is_back:
                return f"cannot land on {into} ({self._why_back}), waits for you"
            case "asks" if self.why_back is not None:
                return f"cannot land on {into} ({self._why_back}), and waits for you"
            case "asks":
                return f"{shown}, waits for you to land it on {into}"
            case "held":
                return f"{shown}, held back from {into}"
            case "back":
                return f"sent back: {self.back_words(tries)}"
            case "landed":
                commit = self.landed.commit[:7] if self.landed else "an unknown commit"
                bare = "" if self.landed and self.landed.checks else ", unchecked"
                gone = self.landed.reverted[:7] if self.landed else ""
                undone = f", taken back as {gone}" if gone else ""
                return f"landed on {into} as {commit}{bare}{undone}"

    def back_words(self, tries: int = 0) -> str:
        """Why the work went back, and which time of how many that was."""
        if self.why_back == "review":
            return "review"
        if self.why_back is None:
            return "it is done again"
        of = f" of {tries}" if tries else ""
        return f"{self._why_back}, {self.tries + self.refusals}{of}"

    @property
    def _why_back(self) -> str:
        if self.why_back == "conflict":
            more = f" and {len(self.conflict) - 1} more" if len(self.conflict) > 1 else ""
            return f"conflict in {self.conflict[0]}{more}" if self.conflict else "conflict"
        if self.why_back == "verify":
            return f"its checks fail on {self.into}"
        return self.refused.partition(":")[0] or "a rule of landing"


_RECORD = SealedRecord(FILE, Landing)


def read(home: Home, task_id: str) -> Landing | None:
    """The record, to be shown; None if missing or damaged."""
    return _RECORD.read(home.task(task_id))


def believed(home: Home, task_id: str) -> Landing | None:
    """The record if fleet wrote it; else None. To be acted on."""
    return _RECORD.believed(home.task(task_id))


def doubt(home: Home, task_id: str) -> str:
    """Why the record is not acted on; empty if fleet wrote the record, or there is none."""
    return _RECORD.weighed(home.task(task_id))[1]


def write(home: Home, task_id: str, landing: Landing) -> Landing:
    """Write the record, durably. Raises OSError."""
    with exclusive(home.task(task_id) / _LOCK):
        return _write(home, task_id, landing)


def change(
    home: Home, task_id: str, changed: Callable[[Landing], Landing | None]
) -> Landing | None:
    """Replace the record by `changed(record)`, while no other process writes.

    None: there is no record to act on, or `changed` wants none of it. Raises OSError.
    """
    if not (home.task(task_id) / FILE).exists():
        return None
    with exclusive(home.task(task_id) / _LOCK):
        now = believed(home, task_id)
        new = changed(now) if now is not None else None
        if new is None or new == now:
            return new
        return _write(home, task_id, new)


def unlanded(home: Home) -> list[str]:
    """The tasks whose landing is not at the end, by the marks in the home."""
    with suppress(OSError):
        names = os.listdir(home.path / FOLDER)  # noqa: PTH208
        return sorted(name for name in names if not name.startswith("."))
    return []


def is_unclosed(home: Home, task_id: str) -> bool:
    """The mark is there: the landing is not at the end, or the queue is not told of the end."""
    return _mark(home, task_id).exists()


def forget_mark(home: Home, task_id: str) -> None:
    """Delete the mark of a task without a landing, or with one at the end."""
    _mark(home, task_id).unlink(missing_ok=True)


def _write(home: Home, task_id: str, landing: Landing) -> Landing:
    if landing.state != "landed":  # of a landed one the queue is told, and then the mark goes
        mark = _mark(home, task_id)
        if not mark.exists():
            mark.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomically(mark, b"")
    _RECORD.write(home.task(task_id), landing)
    return landing


def _mark(home: Home, task_id: str) -> Path:
    return home.path / FOLDER / home.task(task_id).name
