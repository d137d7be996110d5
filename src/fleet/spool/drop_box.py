"""The drop box `runs/<n>/spool/`, from fleet's side: the agent owns every name inside.

The directory is opened once and never by a link; all that follows is done at that descriptor. A
request is read as a plain file of bounded size; an answer is a new file that is renamed to its
name. So nothing that an agent puts there makes fleet read, write or wait elsewhere.
"""

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.runs.run_directory import Run
from fleet.spool.agent_mcp.tool_server import ANSWER
from fleet.spool.request_files import LARGEST, Answer, written

#: Names that one look at a box takes in; what is beyond is a flood, and waits.
_MOST_NAMES = 256
_NAME = re.compile(r"([A-Za-z0-9_-]{1,64})\.(request|taken)")
#: The directory of the box that people's messages lie in.
MESSAGES = "messages"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class DropBox:
    """One open box. `close` lets go of its descriptor."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where there is no such directory, or only a link."""
        self.path = path
        self.fd = os.open(path, _OPEN)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def requests(self, state: str = "request") -> list[str]:
        """The names of requests that wait (`request`) or were begun (`taken`), oldest first."""
        found: list[tuple[int, str]] = []
        with suppress(OSError), os.scandir(self.fd) as entries:
            for _, entry in zip(range(_MOST_NAMES), entries, strict=False):
                name = _NAME.fullmatch(entry.name)
                if name is not None and name[2] == state:
                    with suppress(OSError):
                        about = entry.stat(follow_symlinks=False)
                        found.append((about.st_mtime_ns, name[1]))
        return [nonce for _, nonce in sorted(found)]

    def read(self, nonce: str, state: str = "request") -> bytes | None:
        """The content of a request; None if gone. Raises InvalidTask for what is no plain file of a
        request's size.
        """
        name = f"{nonce}.{state}"
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = os.open(name, flags, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidTask(f"{name} cannot be read: {error.strerror}") from error
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
                raise InvalidTask(f"{name} is not a plain file of at most {LARGEST} bytes")
            return os.read(fd, LARGEST + 1)[:LARGEST]
        finally:
            os.close(fd)

    def take(self, nonce: str) -> bool:
        """Mark a request as begun, so that no crash has the request carried out a second time."""
        try:
            os.rename(f"{nonce}.request", f"{nonce}.taken", src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            return False
        return True

    def answer(self, nonce: str, answer: Answer) -> bool:
        """Put an answer into the box and take the request out. False: the box takes no answer."""
        put = put_at(self.fd, f"{nonce}.answer", written(answer))
        self.drop(nonce)
        return put

    def drop(self, nonce: str) -> None:
        """Take a request out, begun or not."""
        for state in ("request", "taken"):
            remove_at(self.fd, f"{nonce}.{state}")

    @contextmanager
    def messages(self, *, make: bool = False) -> Generator[int | None]:
        """The directory of messages, open; None if there is none, or the agent put something else
        there.
        """
        if make:
            with suppress(OSError):
                os.mkdir(MESSAGES, 0o700, dir_fd=self.fd)
        try:
            folder = os.open(MESSAGES, _OPEN, dir_fd=self.fd)
        except OSError:
            yield None
            return
        try:
            yield folder
        finally:
            os.close(folder)


def give_answer(run: Run, question_id: str, text: str) -> bool:
    """Put a person's answer where the MCP server of a run looks. False: it cannot be put there; the
    server asks for it when it parks the question.
    """
    try:
        box = DropBox(run.spool)
    except OSError:
        return False
    try:
        return put_at(box.fd, ANSWER.format(question_id), text.encode(errors="replace"))
    finally:
        box.close()


def put_at(directory: int, name: str, data: bytes) -> bool:
    """Put a whole file into an open directory, in one step; False if that cannot be done."""
    fresh = f".{os.urandom(12).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(fresh, flags, 0o600, dir_fd=directory)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.rename(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:  # a directory stands at the name, the disk is full, the box is gone
        remove_at(directory, fresh)
        return False
    return True


def remove_at(directory: int, name: str) -> None:
    """Take a name out of an open directory, of whatever kind; a directory that is
    not empty stays.
    """
    try:
        os.unlink(name, dir_fd=directory)
    except IsADirectoryError:
        with suppress(OSError):
            os.rmdir(name, dir_fd=directory)
    except OSError:
        pass
