"""The `bd` and `fleet` of an agent: put a request into the run's drop box, wait, print the answer.

A program of its own, `python -I -S client.py bd …`: it imports nothing of fleet's and needs neither
home nor queue nor network, so that it starts at once and works inside of any sandbox.
`drop_box.py` has the other side of both files.
"""

import os
import sys
import time

#: A request that no supervisor takes up for this many seconds is left for the next one.
UNTAKEN = 20.0
#: A request that was taken up is answered within this time, or the supervisor has died meanwhile.
TAKEN = 120.0
#: Exit code: the request waits in the box.
WAITS = 75
#: Bytes of a file that fleet asks for; a request may have 1 MiB.
LARGEST = 900_000
#: How often fleet may ask for one more file.
_MOST_FILES = 8
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.003, 0.1

REQUEST_HEAD, ANSWER_HEAD = b"fleet-request-1", b"fleet-answer-1"


class Unanswered(Exception):
    """No supervisor has answered in time."""


def ask(box: str, words: "list[str]") -> int:
    """Have one command line carried out; prints the output and returns the exit code."""
    files: dict[bytes, bytes] = {}
    for _ in range(_MOST_FILES):
        try:
            answer = _exchange(box, packed(words, files))
        except Unanswered:
            return _complain(
                "fleet has not answered. The request stays in the drop box, and the next supervisor"
                " carries it out; there is no need to repeat it.",
                WAITS,
            )
        except OSError as error:
            return _complain(f"the drop box {box} cannot be used: {error.strerror}", WAITS)
        code, wanted, out, err = answer
        if not wanted:
            _print(1, out)
            _print(2, err)
            return code
        try:
            files[wanted] = _content(wanted)
        except OSError as error:
            name = "standard input" if wanted == b"-" else os.fsdecode(wanted)
            return _complain(f"cannot read {name}: {error.strerror}", 1)
    return _complain("too many files are named on the line", 1)


def packed(words: "list[str]", files: "dict[bytes, bytes]") -> bytes:
    """Names and texts with a zero byte behind each, which neither can contain; files by length."""
    parts = [REQUEST_HEAD, b"%d" % len(words), *map(os.fsencode, words), b"%d" % len(files)]
    data = b"\0".join(parts) + b"\0"
    for name, content in files.items():
        data += b"%s\0%d\0%s" % (name, len(content), content)
    return data


def leave(box: str, request: bytes) -> str:
    """Put a request into the box; returns the path of the request's files, without endings."""
    nonce = os.urandom(12).hex()
    fresh, place = f"{box}/.{nonce}", f"{box}/{nonce}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        left = memoryview(request)
        while left:
            left = left[file.write(left) or 0 :]
    os.rename(fresh, f"{place}.request")  # noqa: PTH104 - this program must start at once
    return place


def answered(place: str) -> "tuple[int, bytes, bytes, bytes] | None":
    """Take the answer to a request out of the box: exit code, wanted file, output, errors. None:
    there is none yet.
    """
    try:
        with open(f"{place}.answer", "rb") as file:  # noqa: PTH123
            data = file.read()
    except FileNotFoundError:
        return None
    remove(f"{place}.answer")
    head, code, wanted, length, rest = data.split(b"\0", 4)
    if head != ANSWER_HEAD:
        raise Unanswered
    size = int(length)
    return int(code), wanted, rest[:size], rest[size:]


def is_late(place: str, waited: float) -> bool:
    """Whether a supervisor should by now have taken the request up, or have carried it out."""
    untaken = os.path.exists(f"{place}.request")  # noqa: PTH110
    return waited > (UNTAKEN if untaken else TAKEN)


def _exchange(box: str, request: bytes) -> "tuple[int, bytes, bytes, bytes]":
    place = leave(box, request)
    try:
        return _wait(place)
    except KeyboardInterrupt:
        remove(f"{place}.request")
        raise


def _wait(place: str) -> "tuple[int, bytes, bytes, bytes]":
    pause, began = _SHORTEST_PAUSE, time.monotonic()
    while True:
        time.sleep(pause)
        answer = answered(place)
        if answer is not None:
            return answer
        if is_late(place, time.monotonic() - began):
            raise Unanswered
        pause = min(pause * 1.25, _LONGEST_PAUSE)


def _content(name: bytes) -> bytes:
    with open(0 if name == b"-" else name, "rb", closefd=name != b"-") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(0, f"it has more than {LARGEST} bytes")
    return data


def remove(path: str) -> bool:
    """Delete a file; False: not there."""
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return False
    return True


def _print(fd: int, data: bytes) -> None:
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError:
        pass  # the program that read this has ended


def _complain(text: str, code: int) -> int:
    _print(2, f"Error: {text}\n".encode(errors="replace"))
    return code


if __name__ == "__main__":
    try:
        sys.exit(ask(os.environ.get("FLEET_SPOOL", ""), sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
