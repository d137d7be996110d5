"""`trials/<project>/trials.json` in the home: what verify commands came to on trees.

A verification of a run or of a fold that passes is noted here, so that work which begins at that
tree need not try the commands again. The check of a base (`base_check.py`) notes failures too. A
trial holds for a tree, the place in the checkout and its set-up, and the commands that ran there
before. The file is sealed, since claims are judged by it.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.errors import InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.home import Home
from fleet.schemas import Check, Policy

FOLDER = "trials"
_FILE, _LOCK = "trials.json", "trials.lock"
#: How many trials of a project are kept.
KEPT = 300
#: Seconds for which a failure is believed: what the command needs of the machine may be there then.
FAILED_HOLDS = 900.0
#: Characters of output that are kept of a command that passed.
_TAIL_OF_PASSED = 200
_LARGEST = 4 << 20


class CheckoutPlace(Struct, frozen=True, kw_only=True):
    """A tree, and where in a checkout of it commands run."""

    tree: str
    #: The directory that they run in, from the top of the tree.
    inside: str
    #: The project's own directory, and its place in the checkout from the top of the tree.
    project: str
    copy: str


class Trial(Struct, frozen=True, kw_only=True):
    """What one command came to."""

    check: Check
    #: The check is of the set-up command that failed before the command could run.
    in_setup: bool = False
    #: When the trial ended, in seconds since the epoch.
    at: float


class _Trials(Struct, frozen=True):
    """The content of the file, the newest last."""

    by_key: dict[str, Trial] = {}


_RECORD = JsonRecord(_Trials, limit=_LARGEST)


def keys_of(place: CheckoutPlace, policy: Policy, commands: Sequence[str]) -> tuple[str, ...]:
    """The key of each command's trial: with all that decides how the command ends."""
    from hashlib import sha256  # loads OpenSSL, which most commands do without

    facts = (place, policy.setup, policy.copies.share, policy.sandbox, policy.verify_time)
    until = [(facts, tuple(commands[: number + 1])) for number in range(len(commands))]
    return tuple(sha256(msgspec.json.encode(each)).hexdigest()[:32] for each in until)


def folder_of(home: Home, project: str) -> Path:
    """The directory of a project's trials."""
    from hashlib import sha256  # loads OpenSSL, which most commands do without

    return home.path / FOLDER / sha256(os.fsencode(project)).hexdigest()[:16]


def known(
    home: Home,
    place: CheckoutPlace,
    policy: Policy,
    commands: Sequence[str],
    *,
    for_ever: bool = False,
) -> tuple[Trial, ...] | None:
    """The trials of these commands at this place; None: at least one is not known, or failed a
    while ago. `for_ever`: whenever that was.
    """
    trials = _read(folder_of(home, place.project)).by_key
    found = [trials.get(key) for key in keys_of(place, policy, commands)]
    since = 0.0 if for_ever else time.time() - FAILED_HOLDS
    fresh = [each for each in found if each is not None and (each.check.passed or each.at > since)]
    return tuple(fresh) if len(fresh) == len(commands) else None


def note(
    home: Home,
    place: CheckoutPlace,
    policy: Policy,
    commands: Sequence[str],
    trials: Sequence[Trial],
) -> None:
    """Keep the trials of these commands, in their order. Raises OSError."""
    folder = folder_of(home, place.project)
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    fresh = dict(zip(keys_of(place, policy, commands), map(_bounded, trials), strict=False))
    with exclusive(folder / _LOCK):
        before = _read(folder).by_key
        both = {key: trial for key, trial in before.items() if key not in fresh} | fresh
        _write(folder, dict(list(both.items())[-KEPT:]))


def note_passed(home: Home, place: CheckoutPlace, policy: Policy, checks: Sequence[Check]) -> None:
    """Keep the result of commands that all passed at this place. Raises OSError."""
    trials = [Trial(check=check, at=time.time()) for check in checks]
    note(home, place, policy, [check.command for check in checks], trials)


def forget(home: Home, project: str, key: str) -> None:
    """Have the commands of a trial that failed tried again. Raises OSError."""
    folder = folder_of(home, project)
    if not folder.is_dir():
        return
    with exclusive(folder / _LOCK):
        before = _read(folder).by_key
        _write(folder, {name: trial for name, trial in before.items() if name != key})


def _bounded(trial: Trial) -> Trial:
    check = trial.check
    if not check.passed:
        return trial
    return structs.replace(trial, check=structs.replace(check, tail=check.tail[-_TAIL_OF_PASSED:]))


def _read(folder: Path) -> _Trials:
    """The trials that fleet wrote; none where the file is missing, damaged or not fleet's."""
    path = folder / _FILE
    try:
        data = read_bounded(path, _LARGEST)
        if not data or not seals.is_latest(path, data):
            return _Trials()
        return _RECORD.decode(path, data)
    except InvalidTask:
        return _Trials()


def _write(folder: Path, by_key: dict[str, Trial]) -> None:
    path = folder / _FILE
    data = _RECORD.encode(_Trials(by_key))
    seals.seal_latest(path, data)
    write_atomically(path, data, durable=False)
