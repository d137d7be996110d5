"""The framer and the follower: bytes in, exact lines out, in bounded memory."""

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import InvalidTask
from fleet.files.tail import Follower, Framer, StreamLine

#: A stream with everything that a naive reader trips over.
STREAM = (
    b'{"type":"init"}\n'
    b"\n"
    b'{"text":"caf\xc3\xa9 \xff\xfe bad, NUL \x00, CR \r, LS \xe2\x80\xa8 FF \x0c"}\r\n'
    b"\x1b[31mnot json\x1b[0m\n"
    b'{"type":"result"}\n'
    b'{"cut":'
)

#: What a real CLI printed.
RECORDED = Path(__file__).parents[2] / "streams/codex/tool.jsonl"


def frame(chunks, max_line=1 << 20):
    framer = Framer(max_line)
    lines = [line for chunk in chunks for line in framer.feed(chunk)]
    last = framer.finish()
    return [*lines, last] if last else lines


def whole_lines(data):
    *lines, rest = data.split(b"\n")
    return [StreamLine(line) for line in lines] + ([StreamLine(rest, whole=False)] if rest else [])


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"\n", b"\r\n", b"a\n\nb", b"\x00"])))
def test_lines_do_not_depend_on_how_the_bytes_arrive(chunks):
    """Any chopping of any bytes gives the same lines, and not a byte is changed."""
    assert frame(chunks) == whole_lines(b"".join(chunks))


@given(st.binary(max_size=200).map(lambda data: data.replace(b"\x01", b"\n")), st.data())
def test_a_long_line_keeps_its_head_and_counts_the_rest(data, draw):
    """However it arrives: head, dropped bytes and offset add up to the line in the file."""
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    chunks = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert frame(chunks, max_line=8) == [
        StreamLine(line.data[:8], max(0, len(line.data) - 8), line.whole)
        for line in whole_lines(data)
    ]
    framer = Framer(8)
    for chunk in chunks:
        framer.feed(chunk)
    assert framer.framed == data.rfind(b"\n") + 1


@pytest.mark.parametrize("stream", [STREAM, RECORDED.read_bytes()], ids=["nasty", "recorded"])
def test_a_stream_cut_at_any_byte_loses_no_line(stream):
    """Cut anywhere: every line before the cut, then the piece, marked as such."""
    for cut in range(len(stream) + 1):
        assert frame([stream[:cut]]) == whole_lines(stream[:cut])
        assert frame([stream[:cut], stream[cut:]]) == whole_lines(stream)


def test_a_line_of_100_megabytes_does_not_grow_the_reader():
    """The head is kept, the rest is counted, and memory stays at a few helpings."""
    framer, chunk = Framer(), b"x" * (1 << 20)
    tracemalloc.start()
    for _ in range(100):
        assert framer.feed(chunk) == []
    (line,) = framer.feed(b"\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(line.data), line.dropped) == (1 << 20, 99 << 20)
    assert framer.framed == (100 << 20) + 1
    assert peak < 8 << 20


def test_a_huge_file_is_followed_in_bounded_memory(tmp_path):
    """100 MB without a newline, then an ordinary line, read to the end within 8 MB."""
    path = tmp_path / "stdout"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\nafter\n")
    follower = Follower(path)
    tracemalloc.start()
    lines = list(follower.finish())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(len(line.data), line.dropped) for line in lines] == [(1 << 20, 99 << 20), (5, 0)]
    assert peak < 8 << 20
    assert follower.offset == path.stat().st_size


def test_a_file_may_come_later_and_grow(tmp_path):
    """A missing file is an empty one; what is appended comes once, and only when complete."""
    path = tmp_path / "stdout"
    follower = Follower(path)
    assert follower.read() == []
    assert not follower.behind
    with path.open("ab", buffering=0) as file:
        file.write(b"one\ntw")
        assert follower.behind
        assert follower.read() == [StreamLine(b"one")]
        assert not follower.behind
        assert follower.read() == []
        file.write(b"o\nthr")
        assert follower.read() == [StreamLine(b"two")]
    assert list(follower.finish()) == [StreamLine(b"thr", whole=False)]


def test_a_follower_goes_on_where_another_left_off(tmp_path):
    """From the offset at any moment, a new follower repeats no line and misses none."""
    path = tmp_path / "stdout"
    expected = whole_lines(STREAM)
    for cut in range(len(STREAM) + 1):
        path.write_bytes(STREAM[:cut])
        first = Follower(path)
        seen = first.read()
        path.write_bytes(STREAM)
        second = Follower(path, first.offset)
        assert seen + list(second.finish()) == expected


def test_a_file_that_was_cut_short_is_read_from_its_start(tmp_path):
    """Emptying the file loses what was in it, not what comes after."""
    path = tmp_path / "stdout"
    path.write_bytes(b"a long first line\nand a piece")
    follower = Follower(path)
    assert follower.read() == [StreamLine(b"a long first line")]
    path.write_bytes(b"new\n")
    assert follower.read() == [StreamLine(b"new")]
    assert follower.offset == 4


@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_only_a_plain_file_is_followed(tmp_path, kind):
    """An agent that puts a pipe, a link or a directory in the stream's place is found out."""
    path = tmp_path / "stdout"
    {
        "pipe": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to("/etc/passwd"),
        "directory": path.mkdir,
    }[kind]()
    with pytest.raises(InvalidTask, match="stdout"):
        Follower(path).read()
