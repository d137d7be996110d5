"""`trains/<key>/` in the home: what the train of one branch means to do, and what it has learnt.

`train.json` is written before a fold is verified and before the branch moves. A lander that finds
one sees by the branch itself what was done. `learnt.json` holds the size of the next batch and the
checks that passed on each tree; without it nothing is lost but time.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.landing.train_rules import Proofs

FOLDER = "trains"
_TRAIN = "train.json"
_LEARNT = "learnt.json"


class Member(Struct, frozen=True, kw_only=True):
    """One candidate of a train, and what its fold came to."""

    task_id: str
    candidate: str
    #: The commit on the line that holds it, with its parents and its tree.
    commit: str
    parents: tuple[str, ...]
    tree: str


class Train(Struct, frozen=True, kw_only=True):
    """What a train means to do: the content of train.json."""

    branch: str
    #: The line as it is, the value that it is to take, and the checks that value has to pass.
    old: str
    new: str
    tree: str
    checks: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    #: The remote branch that is pushed to before the line moves; empty: none.
    upstream: str = ""

    @property
    def ids(self) -> list[str]:
        return [member.task_id for member in self.members]


class Learnt(Struct, frozen=True, kw_only=True):
    """What the trains of a branch have learnt: the content of learnt.json."""

    repository: str = ""
    branch: str = ""
    size: int = 0
    passed: dict[str, tuple[str, ...]] = {}
    #: The line is ahead of the branch, since a checkout was in the way; why it was.
    behind: str = ""
    #: Why the line could not be moved the last time; empty if it could.
    held: str = ""
    #: The last line that failed by itself: its tree, with the checks that failed.
    red: dict[str, tuple[str, ...]] = {}

    @property
    def proofs(self) -> Proofs:
        return Proofs(_sets(self.passed), _sets(self.red))


def _sets(known: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    return {tree: frozenset(checks) for tree, checks in known.items()}


_TRAINS = JsonRecord(Train, limit=16 << 20)
_LEARNTS = JsonRecord(Learnt, limit=16 << 20)


class TrainPlace:
    """The directory of one branch's trains."""

    def __init__(self, home: Home, common_dir: str, branch: str) -> None:
        text = f"{os.path.realpath(common_dir)}\0{branch}"
        key = hashlib.sha256(os.fsencode(text)).hexdigest()[:16]
        self.path = home.path / FOLDER / key

    def make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def meant(self) -> Train | None:
        """What an earlier lander meant to do; None: nothing, or the file is damaged."""
        return _TRAINS.read_or_none(self.path / _TRAIN)

    def mean(self, train: Train) -> Train:
        """Write down what is going to be done. Raises OSError."""
        _TRAINS.write(self.path / _TRAIN, train)
        return train

    def done(self) -> None:
        (self.path / _TRAIN).unlink(missing_ok=True)

    def learnt(self) -> Learnt:
        return _LEARNTS.read_or_none(self.path / _LEARNT) or Learnt()

    def learn(self, learnt: Learnt) -> None:
        if learnt != self.learnt():
            _LEARNTS.write(self.path / _LEARNT, learnt, durable=False)

    @property
    def verify(self) -> Path:
        """Below this, each tree that is just verified has a directory."""
        return self.path / "verify"

    def checkout(self, tree: str) -> Path:
        """Where a tree is verified: the same place for the same tree, so that a command which an
        earlier lander started there is found at work.
        """
        return self.verify / tree[:16]


def branches_behind(home: Home) -> list[Learnt]:
    """The branches that stand behind their lines, by what their trains have learnt."""
    with suppress(OSError):
        names = sorted(os.listdir(home.path / FOLDER))  # noqa: PTH208
        found = [_LEARNTS.read_or_none(home.path / FOLDER / name / _LEARNT) for name in names]
        return [each for each in found if each is not None and each.behind and each.branch]
    return []
