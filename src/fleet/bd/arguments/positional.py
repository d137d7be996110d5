"""What a command line brings along: the right number of words, known tasks, and text from words,
from a file or from standard input.
"""

from collections.abc import Sequence
from pathlib import Path

from fleet.bd.command import Call, Failure
from fleet.bd.pflag import Flag
from fleet.errors import FleetError
from fleet.schemas import Task

TEXT_FLAGS = (
    Flag("stdin", "switch", help="Read the text from stdin"),
    Flag("file", help="Read the text from file"),
)


def exactly(call: Call, count: int) -> Sequence[str]:
    if len(call.words) != count:
        raise Failure(f"accepts {count} arg(s), received {len(call.words)}", channel="err")
    return call.words


def at_least(call: Call, count: int) -> Sequence[str]:
    if len(call.words) < count:
        raise Failure(
            f"requires at least {count} arg(s), only received {len(call.words)}", channel="err"
        )
    return call.words


def at_most(call: Call, count: int) -> Sequence[str]:
    if len(call.words) > count:
        raise Failure(f"accepts at most {count} arg(s), received {len(call.words)}", channel="err")
    return call.words


def found(call: Call, word: str, before: str | None = None) -> Task:
    """The task that a word means, or bd's complaint: `before` is what it says first."""
    try:
        return call.task(word)
    except FleetError as error:
        first = f"resolving {word}" if before is None else before
        raise Failure(f"{first}: {error.message}") from None


def text_of(call: Call, words: Sequence[str], what: str, *, ways: str, given: str = "") -> str:
    """The text of a comment, note or response: words of the line, a flag, a file, or stdin."""
    source = next((f"--{name}" for name in ("stdin", "file") if call.line.has(name)), "")
    if words and source:
        raise Failure(f'cannot combine positional text "{" ".join(words)}" with {source}')
    if source == "--stdin":
        text = readable(call.stdin.read(), "stdin")
    elif source == "--file":
        text = read_file(call.line.text("file"))
    elif words or given:
        text = given or " ".join(words)
    else:
        raise Failure(f"no {what} text provided (use {ways})")
    if not text.strip():
        raise Failure(f"{what} text cannot be empty")
    return text


def read_file(name: str) -> str:
    try:
        return readable(Path(name).read_bytes().decode(), name)
    except OSError as error:
        raise Failure(f"failed to open file: open {name}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise Failure(f"{name} is not valid UTF-8: {error.reason} at byte {error.start}") from None


def readable(text: str, source: str) -> str:
    """The text itself, if it can be stored and shown again."""
    if "\0" in text:
        raise Failure(f"{source} holds a zero byte: that is not text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure(f"{source} is not valid UTF-8") from None
    return text


def reason(error: OSError) -> str:
    """The system's words, written as bd writes them."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]
