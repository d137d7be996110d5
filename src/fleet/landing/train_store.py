"""`trains/<key>/` in the home: what the train of one branch means to do, and what was learnt.

`train.json` is written before a fold is verified and before the branch moves. A lander that finds
one sees by the branch itself what was done, and goes on with the fold if nothing was.
`learnt.json` is written after each verify run: which checks passed on which tree, and how many
candidates fail. Without it nothing is lost but time. Both are sealed, since work lands by what they
say; of one that fleet did not write only that is believed by which nothing lands.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from fleet.errors import InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.home import Home
from fleet.landing.fold.fold_checks import command_of
from fleet.landing.train_rules import FailingShare

T = TypeVar("T")

FOLDER = "trains"
_TRAIN = "train.json"
_LEARNT = "learnt.json"
#: How many trees with their passed checks are remembered.
KEPT_PROOFS = 500


class Member(Struct, frozen=True, kw_only=True):
    """One candidate of a train, and the fold that came of it."""

    task_id: str
    candidate: str
    #: The commit on the line that holds the candidate, with parents and tree.
    commit: str
    parents: tuple[str, ...]
    tree: str


class Train(Struct, frozen=True, kw_only=True):
    """What a train means to do: the content of train.json."""

    branch: str
    #: The present line, the value to take, and the checks that the value has to pass.
    old: str
    new: str
    tree: str
    checks: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    #: The remote branch that is pushed to before the line moves; empty: none.
    upstream: str = ""
    #: The parts of its batch that are still to be tried; the members are of the first.
    parts: tuple[tuple[str, ...], ...] = ()

    @property
    def ids(self) -> list[str]:
        return [member.task_id for member in self.members]


class FailedCheck(Struct, frozen=True, kw_only=True):
    """What failed on a tree, and the end of the output."""

    check: str
    output: str = ""
    #: The command; not that of the check, if the set-up before it failed.
    command: str = ""


class Learnt(Struct, frozen=True, kw_only=True):
    """What the trains of a branch have learnt: the content of learnt.json."""

    repository: str = ""
    branch: str = ""
    share: FailingShare = FailingShare()
    passed: dict[str, tuple[str, ...]] = {}
    #: What failed in the train that is under way, by tree. Forgotten with the end of the train:
    #: the next one may verify the same tree again.
    failed: dict[str, FailedCheck] = {}
    #: The line is ahead of the branch, since a checkout was in the way; why it was.
    behind: str = ""
    #: A tip of the branch that a person moved beside the line, and that line: both fail together.
    beside: tuple[str, str] = ("", "")
    #: Why the line could not be moved the last time; empty if it could.
    held: str = ""
    #: The last line that failed without a candidate: the tree, with the checks that failed.
    red: dict[str, tuple[str, ...]] = {}

    def missing(self, tree: str, checks: Sequence[str]) -> tuple[str, ...]:
        """The checks that have not passed on a tree yet."""
        known = self.passed.get(tree, ())
        return tuple(check for check in checks if check not in known)

    def failing(self, tree: str, checks: Sequence[str]) -> str:
        """The first of these checks that failed on a tree, and would fail again; empty: none."""
        known = {*self.red.get(tree, ())}
        known |= {self.failed[tree].check} if tree in self.failed else set()
        return next((check for check in checks if check in known), "")

    def with_passed(self, tree: str, checks: Iterable[str]) -> "Learnt":
        """With checks that passed on a tree, which is the newest now; the oldest are forgotten."""
        both = tuple(sorted({*self.passed.get(tree, ()), *checks}))
        others = {name: known for name, known in self.passed.items() if name != tree}
        kept = list({**others, tree: both}.items())[-KEPT_PROOFS:]
        return structs.replace(self, passed=dict(kept))

    def command(self, check: str, *trees: str) -> str:
        """The command that failed as this check did, on the first of these trees of this train; the
        check's own where none of them tells.
        """
        found = (self.failed[each] for each in trees if each in self.failed)
        return next((each.command for each in found if each.check == check), command_of(check))

    def output(self, tree: str) -> str:
        """The end of what the check that failed on a tree printed."""
        return self.failed[tree].output if tree in self.failed else ""


_LARGEST = 16 << 20
_TRAINS = JsonRecord(Train, limit=_LARGEST)
_LEARNTS = JsonRecord(Learnt, limit=_LARGEST)


def _read(record: JsonRecord[T], path: Path) -> tuple[T | None, bool]:
    """The value of a file, None if missing or damaged, and whether fleet wrote the file."""
    try:
        data = read_bounded(path, _LARGEST)
        value = record.decode(path, data) if data else None
    except InvalidTask:
        return None, False
    return value, data is not None and seals.is_latest(path, data)


def _write(record: JsonRecord[T], path: Path, value: T, *, durable: bool) -> None:
    data = record.encode(value)
    seals.seal_latest(path, data)
    write_atomically(path, data, durable=durable)


class TrainPlace:
    """The directory of one branch's trains."""

    def __init__(self, home: Home, common_dir: str, branch: str) -> None:
        from hashlib import sha256  # loads OpenSSL, which most commands do without

        text = f"{os.path.realpath(common_dir)}\0{branch}"
        key = sha256(os.fsencode(text)).hexdigest()[:16]
        self.path = home.path / FOLDER / key

    def make(self) -> None:
        """Make the directories of trains, for this user alone. Raises OSError."""
        # One by one: `parents` would make all but the last with the default mode.
        for folder in (self.path.parent, self.path, self.verify):
            folder.mkdir(mode=0o700, exist_ok=True)

    def meant(self) -> Train | None:
        """What an earlier lander meant to do; None: nothing, or the file is damaged. Without parts
        it is only good for asking the line what it holds.
        """
        train, is_sealed = _read(_TRAINS, self.path / _TRAIN)
        return train if train is None or is_sealed else structs.replace(train, parts=())

    def mean(self, train: Train) -> Train:
        """Write down what is going to be done. Raises OSError."""
        self.make()
        _write(_TRAINS, self.path / _TRAIN, train, durable=True)
        return train

    def done(self) -> None:
        (self.path / _TRAIN).unlink(missing_ok=True)

    def learnt(self) -> Learnt:
        return _believed(self.path) or Learnt()

    def learn(self, learnt: Learnt) -> None:
        """Keep what is learnt for the next train. Raises OSError."""
        if learnt != self.learnt():
            self.make()
            _write(_LEARNTS, self.path / _LEARNT, learnt, durable=False)

    @property
    def verify(self) -> Path:
        """Below this, each tree that is just verified has a directory."""
        return self.path / "verify"

    def checkout(self, tree: str) -> Path:
        """Where a tree is verified: the same place for the same tree, so that a command which an
        earlier lander started there is found at work.
        """
        return self.verify / tree[:16]


def _believed(folder: Path) -> Learnt | None:
    """What was learnt; None: nothing, or the file is damaged. Of a file that fleet did not write
    only what lands nothing is believed: that a branch is behind its line.
    """
    found, is_sealed = _read(_LEARNTS, folder / _LEARNT)
    if found is None or is_sealed:
        return found
    return Learnt(repository=found.repository, branch=found.branch, behind=found.behind)


def branches_behind(home: Home) -> list[Learnt]:
    """The branches that stand behind their lines, by what their trains have learnt."""
    with suppress(OSError):
        names = sorted(os.listdir(home.path / FOLDER))  # noqa: PTH208
        found = [_believed(home.path / FOLDER / name) for name in names]
        return [each for each in found if each is not None and each.behind and each.branch]
    return []
