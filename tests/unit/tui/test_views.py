"""What each view makes of the values that `control` gives: lines that read well at 80 columns."""

from datetime import timedelta
from itertools import combinations

import pytest
from msgspec import structs

from fleet.control.accounts import AccountNow, AccountsView
from fleet.control.review.patch import DiffHunk, DiffRow, FileOfDiff
from fleet.control.tasks.show import SettingOf
from fleet.control.usage import Spent, UsageView
from fleet.control.view.task.read_diff import Diff, DiffPart
from fleet.control.view.task.transcript import TranscriptEntry
from fleet.control.view.task.whole_task import RunSummary, TaskTexts, WholeTask
from fleet.control.view.timeline import Band, Lane, Segment, Timeline
from fleet.schemas import Account, Check, Finding, Receipt, Spend, Usage, Verdict, Window
from fleet.schemas.shown_text import cells
from fleet.tui.key_table import KEYS, help_lines, keys_line
from fleet.tui.panes.task_detail import TaskDetail
from fleet.tui.spans import plain, standing_out
from fleet.tui.status_lines import exit_lines, tab_at, top_line, trouble_of, view_at
from fleet.tui.views.log_lines import DoneAct, log_page
from fleet.tui.views.now_list import now_listing, question_listing, question_page
from fleet.tui.views.patch_lines import patch_listing
from fleet.tui.views.task_pages import plan_page, receipt_page, runs_page
from fleet.tui.views.timeline_lanes import lane_page, timeline_listing
from fleet.tui.views.transcript_lines import transcript_listing
from fleet.tui.views.usage_page import usage_page
from tests.builders import HOUR, NOW, a_task
from tests.unit.tui.homes import MINUTE, a_now, a_question, a_row, a_running

SECOND = timedelta(seconds=1)


def shown(lines):
    return "\n".join(plain(line).rstrip() for line in lines)


def a_whole(row=None, **fields):
    row = row or a_running()
    receipt = Receipt(
        task_id=row.id, run=1, coder="claude", model="sonnet", started_at=NOW - HOUR,
        seconds=250.0, outcome="Finished", why="", claim="Fixed it",
        verdict=Verdict(findings=(Finding(rule="tests-fail", what="make test fails"),)),
        checks=(Check(command="make test", code=2, seconds=9.0, tail="1 failed\nassert 1 == 2"),),
    )  # fmt: skip
    whole = {
        "as_of": NOW, "row": row, "receipt": receipt,
        "task": a_task(id=row.id, title=row.title, description="It forgets the password field."),
        "settings": (SettingOf(name="coder", value="claude", source="default"),),
        "runs": (
            RunSummary(
                number=1, coder="claude", model="sonnet", begun=NOW - HOUR, ended=NOW - 50 * MINUTE,
                outcome="Finished", why="make test fails", counts=True, verdict="rejected",
            ),
            RunSummary(number=2, coder="claude", model="sonnet", begun=NOW - 12 * MINUTE),
        ),
        "texts": TaskTexts(plan="# Plan\n\n- [x] find it\n- [ ] mend it", knowledge="See login.py"),
        "waits_for": (a_row(id="fleet-9kc", title="Port the parser"),),
    }  # fmt: skip
    return WholeTask(**whole | fields)


@pytest.mark.parametrize("page", [receipt_page, plan_page, runs_page])
@pytest.mark.parametrize("row", [a_running(), a_question()], ids=["running", "asks"])
def test_a_task_reads_well(page, row, snapshot):
    """First how it stands and why, then what was shown, then what was asked for."""
    assert shown(page(a_whole(row), 78)) == snapshot


ENTRIES = (
    TranscriptEntry(at=0, kind="sign", ts=NOW, run=1, line="session started"),
    TranscriptEntry(at=90, kind="text", ts=NOW, run=1, line="I look", text="I look\nat it."),
    TranscriptEntry(
        at=200, kind="call", ts=NOW, run=1, line="Bash: make test", text='{"command": "make test"}',
        tool="Bash", result="24 passed",
    ),
    TranscriptEntry(
        at=300, kind="call", ts=NOW, run=1, line="Bash: make lint", text='{"command": "make lint"}',
        tool="Bash", result="E501\n\x1b[31mred", failed=True,
    ),
    TranscriptEntry(at=400, kind="person", ts=NOW, run=2, line="Use tabs", text="Use tabs"),
    TranscriptEntry(at=500, kind="error", ts=NOW, run=2, line="API error", text="API error: 529"),
)  # fmt: skip


def test_tool_calls_are_folded_and_errors_are_open(snapshot):
    """A night of calls fits on a screen, and what went wrong stands out."""
    assert shown(transcript_listing(ENTRIES, 78).lines) == snapshot


def test_a_person_unfolds_one_call_or_all():
    """And folds them again."""
    assert "24 passed" not in shown(transcript_listing(ENTRIES, 78).lines)
    assert "24 passed" in shown(transcript_listing(ENTRIES, 78, turned={"200.0"}).lines)
    assert "24 passed" in shown(transcript_listing(ENTRIES, 78, all_open=True).lines)
    closed = shown(transcript_listing(ENTRIES, 78, turned={"300.0"}).lines)
    assert "E501" not in closed


def a_diff():
    file = FileOfDiff(number=0, path="src/a.py", kind="changed", added=1, removed=1, digest="d0")
    big = FileOfDiff(
        number=1, path="lock.json", kind="changed", added=9000, folded=True, digest="d1"
    )
    rows = (
        DiffRow(sign=" ", old=1, new=1, text="def f():"),
        DiffRow(sign="-", old=2, text="    return 1", marks=((11, 12),)),
        DiffRow(sign="+", new=2, text="    return 2\x1b[2J", marks=((11, 12),)),
    )
    part = DiffPart(task_id="fleet-x4f", file=file, hunks=(DiffHunk(old=1, new=1, rows=rows),))
    return Diff(task_id="fleet-x4f", files=(file, big), added=9001, removed=1, digest="d"), part


def test_a_diff_reads_well(snapshot):
    """Files with their figures; large ones folded; escapes of a file shown as text."""
    diff, part = a_diff()
    assert shown(patch_listing(diff, {0: part}, folded={1}, viewed={"d1"}).lines) == snapshot


def a_timeline():
    def run(task, start, end, outcome, verdict="", why=""):
        return Segment(
            task_id=task, title="A task", kind="run", run=1, start=NOW - start * MINUTE,
            end=None if end is None else NOW - end * MINUTE, outcome=outcome, verdict=verdict,
            why=why,
        )  # fmt: skip

    lanes = (
        Lane(number=1, segments=(
            run("fleet-a", 700, 500, "Finished", "checked", "checked; waits to land"),
            run("fleet-b", 480, 450, "Failed"), run("fleet-c", 60, None, ""),
        )),
        Lane(number=2, segments=(run("fleet-d", 300, 240, "RateLimited"),)),
    )  # fmt: skip
    bands = (
        Band(kind="supervisor", name="", start=NOW - 200 * MINUTE, end=NOW - 150 * MINUTE),
        Band(kind="account", name="work", start=NOW - 240 * MINUTE, end=NOW - 100 * MINUTE),
    )
    waits = (Segment(task_id="fleet-e", kind="wait", start=NOW - 90 * MINUTE),)
    start = NOW - 12 * HOUR
    return Timeline(as_of=NOW, start=start, end=NOW, lanes=lanes, bands=bands, waits=waits)


def test_the_timeline_has_a_line_a_slot(snapshot):
    """What kept fleet from working stands above, how many tasks waited below."""
    seen = a_timeline()
    listing = timeline_listing(seen, 78)
    assert shown(listing.lines) == snapshot
    assert [key for key in listing.keys if key] == ["lane:1", "lane:2"]
    assert "fleet-d" in shown(lane_page(seen, "lane:2", 78))
    assert "  Finished: checked; waits to land" in shown(lane_page(seen, "lane:1", 78)).splitlines()


def test_usage_and_accounts_read_at_a_glance(snapshot):
    """Known, estimated and unknown cost stand apart; an account says until when it rests."""
    account = AccountNow(
        account=Account(name="work", coder="claude"), shut="five_hour is used up",
        until=NOW + HOUR, tasks=("fleet-x4f",),
        windows=(Window(kind="five_hour", used_percent=92, resets_at=NOW + HOUR, seen_at=NOW),),
    )  # fmt: skip
    total = Spent(
        name="", runs=9, usage=Usage(input=900_000, output=40_000), cost_usd=3.5,
        estimated_usd=1.25, unpriced=2, wasted_runs=1, wasted_tokens=4000, wasted_usd=0.2,
    )  # fmt: skip
    rows = (Spent(name="sonnet", runs=6, usage=Usage(input=600_000), cost_usd=3.5),)
    usage = UsageView(
        as_of=NOW, since=NOW - 720 * HOUR, by="model", rows=rows, total=total, days=rows
    )
    seen = AccountsView(as_of=NOW, accounts=(account,))
    assert shown(usage_page(usage, seen, 78)) == snapshot


def test_the_log_has_what_the_person_did_in_its_place(snapshot):
    """The command lines that acts stand for, among what the supervisor says."""
    log = (
        b'{"ts":"2026-11-15T11:58:00+00:00","action":"x","text":"fleet-x4f: run 1"}\n'
        b'{"ts":"2026-11-15T12:00:00+00:00","action":"x","text":"fleet-x4f: stopped"}\nno json\n'
    )
    acts = [
        DoneAct(NOW - MINUTE, "fleet stop fleet-x4f", "fleet-x4f is stopped."),
        DoneAct(NOW + MINUTE, "fleet retry fleet-x4f", "it runs", refused=True),
    ]
    assert shown(log_page(log, acts, 78, NOW)) == snapshot


def test_questions_are_listed_and_shown_whole():
    """The longest waiting first, and all of its lines."""
    now = a_now([a_question(), a_question(id="fleet-2", since=NOW - 9 * HOUR)])
    assert list(question_listing(now, NOW, 78).keys) == ["fleet-2", "fleet-5oz"]
    assert "I would refuse." in shown(question_page(a_question(), 78))


@pytest.mark.parametrize("width", [40, 54, 80, 120, 200])
def test_no_line_of_the_list_is_wider_than_its_room(width):
    """Half a row more would push the next one out of sight."""
    assert max(cells(plain(line)) for line in now_listing(a_now(), NOW, width).lines) <= width


def test_of_a_long_list_only_lines_in_sight_are_made():
    """Ten thousand tasks cost what a screen of them costs."""
    rows = [a_row(id=f"fleet-{number}") for number in range(10_000)]
    listing = now_listing(a_now(rows), NOW, 80)
    assert "fleet-7" in plain(listing.lines[12])
    assert len(listing.lines._made) == 1


def test_ages_grow_while_nothing_is_read():
    """Neither the supervisor's age nor that of a step stands still between two reads."""
    later = NOW + timedelta(hours=3)
    assert "up 2h" in plain(top_line(a_now(), "now", 100))
    assert "up 5h" in plain(top_line(a_now(), "now", 100, later))
    row = a_running()
    detail = TaskDetail(lambda slot, question, tell: tell(a_whole(row)), lambda: None)
    detail.choose(row)
    before, after = (shown(detail.listing(78, at).lines) for at in (NOW, later))
    assert "last step" in before
    assert before != after
    assert "3h" in after


def test_the_top_line_is_a_row_of_buttons():
    """A click finds the view whose name stands there."""
    text = plain(top_line(a_now(), "now", 100))
    for name, word in (("now", "Now"), ("questions", "Questions"), ("log", "Log")):
        assert view_at(a_now(), text.index(word)) == name
    assert tab_at(12) == "transcript"


def test_the_bottom_line_always_leads_out():
    """Whatever the width, help and quit are there."""
    for width in (30, 80, 200):
        text = plain(keys_line({"task", "list", "running"}, width, read_only=False))
        assert "? keys" in text
        assert "q quit" in text
        assert cells(text) <= width + 2


def test_no_key_has_two_meanings_in_one_place():
    """Two things that one key does are never possible at once; and every key is in the help."""
    named = {}
    for key in KEYS:
        for name in key.names.split(","):
            named.setdefault(name, []).append(key)
    exclude = ({"searchable", "list"}, {"hits", "no hits"})
    for keys in named.values():
        for one, other in combinations(keys, 2):
            needs = set(one.needs) | set(other.needs)
            assert any(pair <= needs for pair in exclude), (one, other)
    told = shown(help_lines(read_only=False))
    assert all(key.words in told for key in KEYS)


def test_two_lines_stay_behind():
    """What runs, and what waits for the person."""
    first, second = exit_lines(a_now(), NOW)
    assert first == "2 run: fleet-x4f, fleet-9kc.2"
    assert second == "2 need you: fleet-5oz asks, fleet-5es"
    assert exit_lines(None, NOW) == []


def test_the_worst_trouble_is_told_first():
    """A broken home before a slow queue before what keeps tasks from starting."""
    assert trouble_of(a_now(), 60.0, "no home") == "no home"
    assert "has not answered for 1m" in trouble_of(a_now(), 60.0, "")
    assert trouble_of(a_now(), 1.0, "") == ""


def test_a_cost_that_is_not_known_is_never_nought():
    """`$?` and not `$0`."""
    rows = [a_row(group="done", status="closed", spent=Spend(runs=1, unpriced=1))]
    assert "$?" in shown(now_listing(a_now(rows), NOW, 80).lines)


def test_a_split_diff_has_both_sides_in_the_same_width():
    """What replaces a line stands beside it; wide characters and long lines keep the middle."""
    rows = (
        DiffRow(sign=" ", old=1, new=1, text="same"),
        DiffRow(sign="-", old=2, text="漢字" * 60),
        DiffRow(sign="-", old=3, text="gone"),
        DiffRow(sign="+", new=2, text="came"),
        DiffRow(sign=" ", old=4, new=3, text="end"),
    )
    file = FileOfDiff(number=0, path="a", kind="changed", digest="d", lines=5)
    part = DiffPart(task_id="t", file=file, hunks=(DiffHunk(old=1, new=1, rows=rows),))
    listing = patch_listing(Diff(task_id="t", files=(file,)), {0: part}, split=121)
    lines = [plain(line) for line in listing.lines[3:]]
    assert [cells(line.partition("│")[0]) for line in lines] == [60] * 4
    assert [cells(line) for line in lines] == [121] * 4
    left, _, right = lines[1].partition("│")
    assert "漢字" in left
    assert right.split() == ["2", "+came"]
    assert lines[2].split("│")[1].strip() == ""
    assert list(listing.keys[3:]) == ["0/new:1", "0/new:2", "0/old:3", "0/new:3"]


def test_what_is_searched_for_stands_out_whatever_its_case():
    """Also where it stands twice, and where a pattern would mean something else."""
    line = (("A.b a.B axb", "dim"),)
    found = standing_out(line, "a.b")
    assert plain(found) == plain(line)
    assert [text for text, style in found if "reverse" in style] == ["A.b", "a.B"]


@pytest.mark.parametrize(
    ("outcome", "style"),
    [("Failed (auth)", "red"), ("Stalled (silent)", "red"), ("RateLimited (five_hour)", "yellow")],
)
def test_a_run_that_failed_is_told_from_one_that_was_put_off(outcome, style):
    """Whatever the outcome says of its reason."""
    each = Segment(
        kind="run", task_id="t", title="t", run=1, start=NOW - HOUR, end=NOW, outcome=outcome
    )
    seen = Timeline(
        as_of=NOW, start=NOW - 2 * HOUR, end=NOW, lanes=(Lane(number=1, segments=(each,)),)
    )
    styles = {style for line in lane_page(seen, "lane:1", 80) for _, style in line}
    assert style in styles
    assert not {"red", "yellow"} - {style} & styles


def test_a_supervisor_that_has_nothing_to_run_is_not_asked_for():
    """Only where none is alive does the empty group name the command that starts one."""
    assert "fleet run" not in shown(now_listing(a_now(()), NOW, 80).lines)
    dead = structs.replace(a_now(()).supervisor, alive=False)
    assert "fleet run" in shown(now_listing(a_now((), supervisor=dead), NOW, 80).lines)
