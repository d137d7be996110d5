"""What stands in a request and in an answer: words, files, an exit code, two texts. Pure.

`client.py` has the other side. Zero bytes part the fields, since no word can contain one; contents
are taken by their length.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from fleet.errors import BadInput

#: Bytes of a request, with all files that belong to it.
LARGEST = 1 << 20
#: Words on one command line.
_MOST_WORDS = 1000
_REQUEST, _ANSWER = b"fleet-request-1", b"fleet-answer-1"


class AgentRequest(Struct, frozen=True, kw_only=True):
    """One command line of an agent."""

    #: `bd` or `fleet`.
    program: str
    args: tuple[str, ...]
    #: The content of files that stand on the line, by the name there; `-` is standard input.
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


class Answer(Struct, frozen=True, kw_only=True):
    """What a command line came to."""

    code: int = 0
    out: str = ""
    err: str = ""
    #: The name of a file that the line needs. The client asks again with the content.
    wanted: str = ""


def read_request(data: bytes) -> AgentRequest:
    """The request in a file of the box. Raises BadInput for anything else."""
    try:
        head, count, rest = data.split(b"\0", 2)
        number = int(count)
        if head != _REQUEST or not 0 < number <= _MOST_WORDS:
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
    fields = (_ANSWER, b"%d" % answer.code, answer.wanted.encode(), b"%d" % len(out))
    return b"\0".join(fields) + b"\0" + out + err
