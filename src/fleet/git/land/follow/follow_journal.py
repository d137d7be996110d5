"""The journal of a working tree that follows a branch: `fleet-follow` in the git directory.

Beside the journal lie the new files and the new index. While a tree follows, the lock of its index
is taken, so that no commit of a person's is made from the old index on the new branch. The journal
is written before the branch moves and goes when all is done: after a kill the next process sees
what was meant, and completes it or takes it back.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.files.lenient_read import read
from fleet.git.git_command import GitFailed
from fleet.git.land.follow.follow_steps import FollowStep
from fleet.git.repository import Repository

FOLDER = "fleet-follow"
_LOCK = "index.lock"
_MARK = "lock"
_JOURNAL = "follow.json"
_SMALL = 1 << 10


class FollowJournal(Struct, frozen=True, kw_only=True):
    """What is meant: from which commit to which, and each file on the way."""

    #: With `refs/heads/`.
    ref: str
    old: str
    new: str
    steps: list[FollowStep]
    #: The index that the person had, by its time and place on the disk.
    index: tuple[int, int]


_RECORD = JsonRecord(FollowJournal, limit=256 << 20)


class FollowPlace:
    """The directory in which one working tree keeps a follow's journal, files and index. Held by
    one process at a time.
    """

    def __init__(self, repo: Repository, fd: int) -> None:
        self.repo = repo
        self._fd = fd
        self._folder = Path(repo.git_dir) / FOLDER
        #: The new files, and the new index.
        self.files = self._folder / "files"
        self.index = self._folder / "index"
        self.attributes = self._folder / "attributes"

    @property
    def is_used(self) -> bool:
        """An earlier process left something here: see `finish_follows`."""
        return any(self._folder.iterdir())

    def take_lock(self) -> bool:
        """Take the lock of the person's index; False: git or another program has it."""
        token = self._folder / _MARK
        token.write_text(f"fleet {os.urandom(12).hex()}\n", encoding="ascii")
        try:
            # With its content at once, by which the lock is known again.
            os.link(token, self._lock, follow_symlinks=False)
        except FileExistsError:
            return False
        return True

    def owns_lock(self) -> bool:
        """The lock of the index is there, and was taken here."""
        ours, there = read(self._folder / _MARK, _SMALL), read(self._lock, _SMALL)
        return bool(ours and there and ours.data and ours.data == there.data)

    @property
    def is_unlocked(self) -> bool:
        return not os.path.lexists(self._lock)

    def write(self, journal: FollowJournal) -> None:
        _RECORD.write(self._folder / _JOURNAL, journal)

    def read(self) -> FollowJournal | None:
        return _RECORD.read_or_none(self._folder / _JOURNAL)

    def index_now(self) -> tuple[int, int]:
        """By which the person's index is known again."""
        try:
            about = os.lstat(f"{self.repo.git_dir}/index")
        except FileNotFoundError:
            return (0, 0)
        return (about.st_mtime_ns, about.st_ino)

    def put_index(self) -> None:
        """Put the new index into the old one's place, in one step."""
        old = Path(self.repo.git_dir) / "index"
        with suppress(FileNotFoundError):
            self.index.chmod(old.stat().st_mode & 0o777)
        self.index.replace(old)

    def clear(self) -> None:
        """Give the lock of the index back, and forget what was meant."""
        (self._folder / _JOURNAL).unlink(missing_ok=True)
        if self.owns_lock():
            self._lock.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def let_go(self) -> None:
        os.close(self._fd)

    @property
    def _lock(self) -> Path:
        return Path(self.repo.git_dir) / _LOCK


def open_place(repo: Repository) -> FollowPlace | None:
    """The place of a working tree, made if there is none; None: another process works there.

    Raises GitFailed if it cannot be made.
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
            return FollowPlace(repo, fd)
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)  # another process has it, or has just finished and removed it
    return None


def is_begun(repo: Repository) -> bool:
    """A process began to bring this tree after the branch, and has not finished."""
    return os.path.lexists(f"{repo.git_dir}/{FOLDER}")
