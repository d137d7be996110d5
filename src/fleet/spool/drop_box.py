"""The drop box `runs/<n>/spool/`, from fleet's side: the agent owns every name inside.

The directory is opened once and never by a link; all that follows is done at that descriptor. A
request is read as a plain file of bounded size; an answer is a new file that is renamed to its
name. So nothing that an agent puts there makes fleet read, write or wait elsewhere.

What stands in a request and in an answer: words, files, an exit code, two texts. Zero bytes part
the fields, since no word can contain one; contents are taken by their length. `client.py` has the
other side.
"""

import os
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from fleet.errors import BadInput, InvalidTask
from fleet.runs.run_directory import Run
from fleet.spool.agent_mcp.tool_server import ANSWER
from fleet.spool.client import ANSWER_HEAD, REQUEST_HEAD

#: Bytes of a request, with all files that belong to it.
LARGEST = 1 << 20
#: Words on one command line.
_MOST_WORDS = 1000
#: Names that one look at a box takes in; what is beyond is a flood, and waits.
_MOST_NAMES = 256
_NAME = re.compile(r"([A-Za-z0-9_-]{1,64})\.(request|taken)")
#: The directory of the box that people's messages lie in.
MESSAGES = "messages"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileMissing(Exception):
    """A file that the line names did not come with the request."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class AgentRequest(Struct, frozen=True, kw_only=True):
    """One command line of an agent."""

    #: `bd` or `fleet`.
    program: str
    args: tuple[str, ...]
    #: The content of files that stand on the line, by the name there; `-` is standard input.
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def content(self, name: str) -> bytes:
        """A file on the line, as it came with the request: what the supervisor may read is not what
        the agent may read. Raises FileMissing.
        """
        if name not in self.files:
            raise FileMissing(name)
        return self.files[name]

    def text(self, name: str) -> str:
        return self.content(name).decode(errors="replace")

    def read(self, size: int = -1) -> str:
        """Standard input, for the tracker's commands."""
        del size
        return self.content("-").decode()


class Answer(Struct, frozen=True, kw_only=True):
    """What a command line came to."""

    code: int = 0
    out: str = ""
    err: str = ""
    #: The name of a file that the line needs. The client asks again with the content.
    wanted: str = ""


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


def read_request(data: bytes) -> AgentRequest:
    """The request in a file of the box. Raises BadInput for anything else."""
    try:
        head, count, rest = data.split(b"\0", 2)
        number = int(count)
        if head != REQUEST_HEAD or not 0 < number <= _MOST_WORDS:
            raise BadInput("it is not a request of fleet's own bd")
        *words, files, rest = rest.split(b"\0", number + 1)
        if len(words) != number:
            raise BadInput("it ends within its words")
        program, *args = (word.decode() for word in words)
        return AgentRequest(program=program, args=tuple(args), files=_files(int(files), rest))
    except UnicodeDecodeError:
        raise BadInput("an argument is not valid UTF-8") from None
    except ValueError:
        raise BadInput("it is not a request of fleet's own bd") from None


def _files(count: int, rest: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for _ in range(min(count, _MOST_WORDS)):
        name, length, rest = rest.split(b"\0", 2)
        found[name.decode()] = rest[: int(length)]
        rest = rest[int(length) :]
    return found


def written(answer: Answer) -> bytes:
    """The answer in the client's format."""
    out, err = answer.out.encode(errors="replace"), answer.err.encode(errors="replace")
    fields = (ANSWER_HEAD, b"%d" % answer.code, answer.wanted.encode(), b"%d" % len(out))
    return b"\0".join(fields) + b"\0" + out + err
