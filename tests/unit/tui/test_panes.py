"""What the right side reads, bit by bit: transcripts and diffs of any size."""

import json

import pytest

from fleet.config import default_text
from fleet.control.acts.each_act import CommentOnLine
from fleet.control.review.patch import DiffHunk, DiffRow, FileOfDiff
from fleet.control.view.task.read_diff import Diff, DiffPart
from fleet.queue.protocol import Draft
from fleet.tui.home_threads import Unread, unread
from fleet.tui.panes.diff_pane import DiffPane
from fleet.tui.panes.transcript_pane import TranscriptPane
from fleet.tui.spans import plain
from tests.conftest import often

LINES = 3000


@pytest.fixture
def task(fleet):
    """A task with a long transcript: texts that are numbered."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    task = fleet.queue.add(Draft(title="Talk"))
    folder = fleet.home.task(task.id)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, range(LINES))
    return task.id


def write(folder, numbers):
    with (folder / "events.jsonl").open("a") as file:
        for number in numbers:
            text = {"run": 1, "at": [number, 0], "kind": "assistant_text", "text": f"step {number}"}
            file.write(json.dumps(text) + "\n")


def steps(pane):
    return [int(entry.line.removeprefix("step ")) for entry in pane.entries]


def test_a_transcript_opens_at_its_end_and_grows_both_ways(fleet, task):
    """Only what is scrolled to is read, and no line is missing or there twice."""
    pane = TranscriptPane(task)
    pane.take(pane.newer()(fleet))
    first = steps(pane)
    assert first[-1] == LINES - 1
    assert not pane.has_later
    assert pane.take(pane.earlier()(fleet)) is True
    write(fleet.home.task(task), range(LINES, LINES + 10))
    assert pane.take(pane.newer()(fleet)) is False
    found = steps(pane)
    assert found == list(range(found[0], LINES + 10))
    assert found[0] < first[0]


def test_a_search_goes_through_the_whole_transcript_from_hit_to_hit(fleet, task):
    """Of which only the end is in memory; round and round, and back."""
    pane = TranscriptPane(task)
    pane.take(pane.newer()(fleet))
    pane.begin_search("STEP 7")
    while pane.search.take(pane.search.ask()(fleet)):
        pass
    wanted = [n for n in range(LINES) if str(n).startswith("7")]
    assert len(pane.search.hits) == len(wanted)
    seen = []
    for step in (0, 1, -1, -1):  # nothing behind where the person was: the last one first
        key, question = pane.next_hit(step)
        if question is not None:
            pane.take(question(fleet))
        (entry,) = [each for each in pane.entries if f"{each.at}.0/0" == key]
        seen.append(int(entry.line.removeprefix("step ")))
    assert seen == [wanted[-1], wanted[0], wanted[-1], wanted[-2]]
    assert pane.search.words() == f"hit {len(wanted) - 1} of {len(wanted)}: n next, N previous"
    spans = [span for line in pane.listing(80).lines for span in line]
    assert {text for text, style in spans if "reverse" in style} == {"step 7"}
    pane.begin_search("nowhere")
    assert pane.search.take(pane.search.ask()(fleet)) is False
    assert pane.search.words() == "not found in the whole transcript"


def test_the_first_line_of_a_long_transcript_is_one_key_away(fleet, task):
    """And so is the last one."""
    pane = TranscriptPane(task)
    pane.take(pane.newer()(fleet))
    pane.take(pane.jump(top=True)(fleet))
    assert steps(pane)[0] == 0
    assert not pane.has_earlier
    assert "after this" in plain(pane.listing(80).lines[-1])
    pane.take(pane.jump(top=False)(fleet))
    assert steps(pane)[-1] == LINES - 1


def test_the_memory_of_a_transcript_is_bounded_whichever_way_one_scrolls(fleet, task):
    """Scrolling through a whole night keeps a stretch of it."""
    pane = TranscriptPane(task)
    pane.take(pane.newer()(fleet))
    while pane.has_earlier:
        pane.take(pane.earlier()(fleet))
    assert steps(pane)[0] == 0
    assert len(pane.entries) <= 2000
    while pane.has_later:
        pane.take(pane.later()(fleet))
    found = steps(pane)
    assert found == list(range(found[0], LINES))
    assert len(pane.entries) <= 2000


def test_a_huge_transcript_opens_at_once(fleet, task):
    """Reading costs what is shown, not what is there: 100 MB in `make slow`, less in every run."""
    folder = fleet.home.task(task)
    line = json.dumps({"run": 1, "kind": "assistant_text", "text": "x" * 3000}).encode() + b"\n"
    with (folder / "events.jsonl").open("ab") as file:
        for _ in range(often(2, 100)):
            file.write(line * ((1 << 20) // len(line)))
    pane = TranscriptPane(task)
    found = pane.newer()(fleet)
    assert found.size > often(2, 100) * 1_000_000
    assert len(found.entries) <= 500


def test_a_call_gets_its_result_when_that_comes_later(fleet, task):
    """A person who follows sees one line a call."""
    pane = TranscriptPane(task)
    pane.take(pane.newer()(fleet))
    path = fleet.home.task(task) / "events.jsonl"
    call = {"run": 1, "kind": "tool_use", "calls": [{"id": "c", "name": "Bash", "input": {}}]}
    result = {"run": 1, "kind": "tool_result", "results": [{"id": "c", "text": "24 passed"}]}
    for each in (call, result):
        with path.open("a") as file:
            file.write(json.dumps(each) + "\n")
        pane.take(pane.newer()(fleet))
    assert [entry.result for entry in pane.entries if entry.call] == ["24 passed"]


def test_a_transcript_that_cannot_be_read_says_why():
    """And keeps what was there."""
    pane = TranscriptPane("fleet-x")
    pane.take(Unread("no such task", "See: fleet tasks"))
    assert "no such task" in plain(pane.listing(80).lines[0])


def a_file(number, digest, lines=3):
    return FileOfDiff(
        number=number, path=f"src/{number}.py", kind="changed", added=1, lines=lines, digest=digest
    )


def a_part(file, first_row=0, next_row=None):
    rows = (DiffRow(sign="+", new=first_row + 1, text=f"line {first_row + 1}"),)
    return DiffPart(
        task_id="fleet-x", file=file, hunks=(DiffHunk(old=1, new=1, rows=rows),),
        first_row=first_row, next_row=next_row,
    )  # fmt: skip


def a_pane(*digests):
    files = tuple(a_file(number, digest) for number, digest in enumerate(digests))
    pane = DiffPane("fleet-x")
    whole = Diff(task_id="fleet-x", files=files, digest="".join(digests))
    pane.take((whole, [a_part(file) for file in files]))
    return pane


def text_of(pane):
    return "\n".join(plain(line) for line in pane.listing(80).lines)


def test_viewed_holds_until_the_file_changes_again():
    """By its content: what an agent touched since has to be looked at again."""
    pane = a_pane("a1", "b1")
    pane.view("0/")
    assert text_of(pane).count("viewed") == 1
    files = (a_file(0, "a1"), a_file(1, "b2"))
    parts = [a_part(file) for file in files]
    pane.take((Diff(task_id="fleet-x", files=files, digest="new"), parts))
    assert text_of(pane).count("viewed") == 1
    files = (a_file(0, "a2"), a_file(1, "b2"))
    pane.take((Diff(task_id="fleet-x", files=files, digest="newer"), parts))
    assert "viewed" not in text_of(pane)


def test_a_comment_belongs_to_a_line_that_is_there_after_the_work():
    """A line that was removed, or a heading, has no place for one."""
    pane = a_pane("a1")
    assert pane.place("0/new:1") == ("src/0.py", 1)
    assert pane.place("0/old:1") is None
    assert pane.place("0/") is None
    assert pane.place("../../etc") is None
    pane.comments.append(CommentOnLine(path="src/0.py", line=1, text="why?"))


def test_a_long_file_is_read_on_where_it_ends():
    """Its rows come behind those that are there."""
    pane = a_pane("a1")
    pane.take_part(a_part(a_file(0, "a1"), 0, next_row=2000))
    assert "more: Enter" in text_of(pane)
    assert pane.turn("0/more:2000") is not None
    pane.take_part(a_part(a_file(0, "a1"), 2000))
    assert "line 1" in text_of(pane)
    assert "line 2001" in text_of(pane)
    assert "more: Enter" not in text_of(pane)


def test_files_fold_one_by_one_and_all_together():
    """A review of forty files goes file by file."""
    pane = a_pane("a1", "b1")
    assert pane.turn("0/") is None
    assert text_of(pane).count("line 1") == 1
    pane.fold_all()
    assert "line 1" not in text_of(pane)
    pane.fold_all()
    assert text_of(pane).count("line 1") == 2


def test_an_error_that_no_person_made_is_told_as_such():
    """The screen lives on, and says what to think of it."""
    told = unread(ValueError("x"))
    assert told.message == "ValueError: x"
    assert "mistake in fleet" in told.hint
