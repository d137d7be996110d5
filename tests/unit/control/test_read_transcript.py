"""A transcript is read from any byte, both ways, and searched, whatever its length."""

import json
import tracemalloc

import msgspec
import pytest

from fleet.control.view.task.read_transcript import read_transcript, search_transcript
from fleet.errors import BadInput, NotFound
from fleet.queue.protocol import Draft
from fleet.runs.event_log import FILE
from tests.conftest import often


@pytest.fixture
def task(fleet):
    found = fleet.queue.add(Draft(title="t"))
    fleet.home.task(found.id).mkdir(parents=True)
    return found


def line(run=1, **event):
    return json.dumps({"run": run, "at": [0, 0], **event}, separators=(",", ":")) + "\n"


def said(number):
    return line(kind="assistant_text", text=f"step {number}")


def written(fleet, task, text):
    (fleet.home.task(task.id) / FILE).write_bytes(text.encode(errors="surrogatepass"))


def texts(found):
    return [entry.line for entry in found.entries]


def test_the_end_comes_first_and_earlier_pages_join_on(fleet, task):
    """Page by page backwards, each line once and in order; and forwards the same."""
    written(fleet, task, "".join(said(number) for number in range(95)))
    found, pages = read_transcript(fleet, task.id, at=None, limit=20), []
    assert texts(found)[-1] == "step 94"
    assert found.end == found.size
    while found.entries:
        pages.insert(0, texts(found))
        found = read_transcript(fleet, task.id, at=found.start, limit=20, back=True)
    backwards = [text for page in pages for text in page]
    assert backwards == [f"step {number}" for number in range(95)]
    at, forwards = 0, []
    while at < found.size:
        page = read_transcript(fleet, task.id, at=at, limit=30)
        forwards += texts(page)
        at = page.end
    assert forwards == backwards


def test_a_place_within_a_line_begins_with_the_next(fleet, task):
    """An address that was copied by hand still works."""
    written(fleet, task, said(1) + said(2))
    assert texts(read_transcript(fleet, task.id, at=3, limit=5)) == ["step 2"]
    assert texts(read_transcript(fleet, task.id, at=10**9, limit=5)) == []


def test_a_call_is_one_line_with_its_result(fleet, task):
    """Also where other lines stand between; a failed one says so."""
    call = {"id": "c1", "name": "Bash", "input": {"command": "make test\nsecond line"}}
    result = {"id": "c1", "is_error": True, "text": "2 failed"}
    written(
        fleet,
        task,
        line(kind="tool_use", calls=[call]) + line(kind="usage", tokens={})
        + line(kind="tool_result", results=[result]),
    )  # fmt: skip
    (entry,) = read_transcript(fleet, task.id, at=0, limit=9).entries
    assert (entry.kind, entry.line, entry.tool) == ("call", "Bash: make test", "Bash")
    assert (entry.result, entry.failed) == ("2 failed", True)


def test_a_result_without_its_call_is_still_shown(fleet, task):
    """The page may begin between the two."""
    call = {"id": "c1", "name": "Bash", "input": {"command": "ls"}}
    first = line(kind="tool_use", calls=[call])
    written(fleet, task, first + line(kind="tool_result", results=[{"id": "c1", "text": "a b"}]))
    (entry,) = read_transcript(fleet, task.id, at=len(first), limit=9).entries
    assert (entry.result, entry.tool) == ("a b", "")


def test_half_a_line_is_not_shown_yet(fleet, task):
    """The supervisor is writing it."""
    written(fleet, task, said(1) + said(2)[:-5])
    found = read_transcript(fleet, task.id, at=None, limit=9)
    assert texts(found) == ["step 1"]
    assert found.size == len(said(1))


@pytest.mark.parametrize(
    "damage",
    ["no json at all", '{"kind":5}', "[]", '{"run":1', "\x00\x01", '{"kind":"x","run":"y"}'],
)
def test_a_damaged_line_is_told_and_hides_no_other(fleet, task, damage):
    """An agent can write into the file."""
    written(fleet, task, f"{said(1)}{damage}\n{said(2)}")
    found = read_transcript(fleet, task.id, at=0, limit=9)
    assert texts(found)[0] == "step 1"
    assert texts(found)[-1] == "step 2"
    assert msgspec.json.encode(found)


def test_a_link_in_its_place_is_not_followed(fleet, task):
    """What the agent points at is not read for it."""
    from fleet.errors import InvalidTask

    (fleet.home.task(task.id) / FILE).symlink_to("/etc/passwd")
    with pytest.raises(InvalidTask):
        read_transcript(fleet, task.id, at=None, limit=5)


def test_a_search_finds_every_entry_and_goes_on(fleet, task):
    """In text, calls and results, whatever the case, also where JSON writes an escape."""
    call = {"id": "c", "name": "Bash", "input": {"command": 'echo "Needle"'}}
    written(
        fleet, task, said(1) + line(kind="tool_use", calls=[call])
        + line(kind="assistant_text", text="caf\u00e9 \u201cneedle\u201d") + said(2),
    )  # fmt: skip
    assert [hit.kind for hit in search_transcript(fleet, task.id, "NEEDLE").hits] == [
        "call",
        "text",
    ]
    assert len(search_transcript(fleet, task.id, "CAF\u00c9").hits) == 1
    assert len(search_transcript(fleet, task.id, '"Needle"').hits) == 1
    assert search_transcript(fleet, task.id, "nothing").hits == ()
    with pytest.raises(BadInput):
        search_transcript(fleet, task.id, "  ")


@pytest.mark.parametrize("word", ["..", "../x", "a/b", "", "-x"])
def test_a_name_that_is_no_id_is_refused(fleet, word):
    """Before any file is looked at."""
    with pytest.raises((BadInput, NotFound)):
        read_transcript(fleet, word, at=None, limit=5)


def test_a_long_transcript_is_read_in_parts(fleet, task):
    """Both ends and a search of it need little memory, however long it is."""
    size = often(8, 100) << 20
    with (fleet.home.task(task.id) / FILE).open("wb") as file:
        block = "".join(line(kind="assistant_text", text="x" * 900) for _ in range(200)).encode()
        while file.tell() < size:
            file.write(block)
        file.write(line(kind="assistant_text", text="a needle").encode())
    tracemalloc.start()
    found = read_transcript(fleet, task.id, at=None, limit=200)
    first = read_transcript(fleet, task.id, at=0, limit=200)
    hits, at = [], 0
    while at is not None:
        part = search_transcript(fleet, task.id, "needle", at=at)
        hits, at = [*hits, *part.hits], part.next_at
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert texts(found)[-1] == "a needle"
    assert len(first.entries) == 200
    assert [hit.line for hit in hits] == ["a needle"]
    assert peak < 6 << 20
