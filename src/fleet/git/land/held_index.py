"""The index of a person's working tree, locked while the tree moves to another commit.

The lock is git's own `index.lock`, so that no commit, switch or reset of a person's comes between.
`fleet-follow` in the git directory holds what is meant (`follow.json`), a mark by which the lock is
known again after a kill, and the index to be. All of it goes at the end.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.agent_place import AgentPlace
from fleet.files.json_record import JsonRecord
from fleet.files.lenient_read import read
from fleet.git.git_command import GitFailed
from fleet.git.repository import Repository

FOLDER = "fleet-follow"
_LOCK = "index.lock"
_INDEX = "index"
_MARK = "lock"
_NOTE = "follow.json"
_SMALL = 1 << 10
_LARGEST = 1 << 30


class MeantMove(Struct, frozen=True, kw_only=True):
    """A working tree that is to move: the content of follow.json."""

    #: With `refs/heads/`.
    ref: str
    old: str
    new: str


_RECORD = JsonRecord(MeantMove, limit=256 << 20)


class HeldIndex:
    """The index of one working tree in the hands of one process of fleet."""

    def __init__(self, repo: Repository, fd: int) -> None:
        self.repo = repo
        self._fd = fd
        self.folder = Path(repo.git_dir) / FOLDER
        #: The index to be.
        self.index = self.folder / _INDEX

    @property
    def is_used(self) -> bool:
        """An earlier process left something here."""
        return any(self.folder.iterdir())

    def take_lock(self) -> bool:
        """Take the lock of the person's index; False: git or another program has it."""
        token = self.folder / _MARK
        token.write_text(f"fleet {os.urandom(12).hex()}\n", encoding="ascii")
        try:
            # With its content at once, by which the lock is known again.
            os.link(token, self._lock, follow_symlinks=False)
        except FileExistsError:
            return False
        return True

    def has_lock(self) -> bool:
        """The lock of the index was taken here, by this process or one that was killed."""
        ours, there = read(self.folder / _MARK, _SMALL), read(self._lock, _SMALL)
        return bool(ours and there and ours.data and ours.data == there.data)

    def mean(self, move: MeantMove) -> None:
        _RECORD.write(self.folder / _NOTE, move)

    def meant(self) -> MeantMove | None:
        return _RECORD.read_or_none(self.folder / _NOTE)

    def copy_index(self) -> None:
        """Copy the person's index, with its time. Raises OSError, and InvalidTask for a link."""
        for left in (self.index, self.index.with_name(_LOCK)):  # of a git that was killed
            left.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            AgentPlace(self.repo.git_dir).copy_out(_INDEX, self.index, _LARGEST)

    def put_index(self) -> None:
        """Put the new index into the old one's place, in one step."""
        old = Path(self.repo.git_dir) / _INDEX
        with suppress(FileNotFoundError):
            self.index.chmod(old.stat().st_mode & 0o777)
        self.index.replace(old)

    def clear(self) -> None:
        """Give the lock back, and forget what was meant."""
        try:
            (self.folder / _NOTE).unlink(missing_ok=True)
            if self.has_lock():
                self._lock.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            self.let_go()

    def let_go(self) -> None:
        os.close(self._fd)

    @property
    def _lock(self) -> Path:
        return Path(self.repo.git_dir) / _LOCK


def hold_index(repo: Repository) -> HeldIndex | None:
    """Take a working tree's index in hand; None: another process of fleet has it. Raises
    GitFailed.
    """
    folder = Path(repo.git_dir) / FOLDER
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        fd = os.open(folder, flags)
    except OSError as error:
        raise GitFailed(f"{folder} cannot be made: {error.strerror or error}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), folder.lstat()):
            return HeldIndex(repo, fd)
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)  # another process has it, or has just finished and removed it
    return None


def is_held(repo: Repository) -> bool:
    """A process began to move this working tree, and has not finished."""
    return os.path.lexists(f"{repo.git_dir}/{FOLDER}")
