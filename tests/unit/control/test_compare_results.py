"""How an entry of a comparison stands, by what there is of it; and all added up without a rank."""

from datetime import timedelta

import pytest
from click import unstyle
from msgspec import structs

from fleet.cli.compare.output import diff_lines, entry_table, shown_cost, summary_table
from fleet.control.compare.finish import find_entry
from fleet.control.compare.results import EntryDiff, EntryFacts, result_of, summaries
from fleet.control.tasks.in_progress import InProgress
from fleet.errors import BadInput
from fleet.runs.progress_json import Progress
from fleet.schemas import (
    Blocked,
    Closed,
    Failed,
    FileChange,
    Finished,
    NeedsHuman,
    Stopped,
    Usage,
    Verdict,
)
from fleet.schemas.comparison import Comparison, Entry, Result, Size
from fleet.schemas.waits import SetAside
from tests.builders import NOW, a_task, an_ending
from tests.unit.control.test_usage import receipt


def ending(outcome, why="because", *, counts=True):
    return an_ending(outcome, Blocked(waits=SetAside(note=why)), counts=counts, why=why)


def closed():
    return structs.replace(ending(Finished(), "unchecked"), settlement=Closed(reason="did it"))


def doing(what, **more):
    return InProgress(id="fleet-a", title="t", doing=what, **more)


def standing(status, *receipts, end=None, **more):
    facts = EntryFacts(
        task=a_task(status=status), receipts=receipts, ending=end, runs=len(receipts), **more
    )
    return result_of(facts).standing


def test_a_try_stands_where_its_evidence_puts_it():
    """The queue's word alone verifies nothing."""
    bad = receipt(good=False)
    assert standing("open") == "waiting"
    assert standing("open", bad, end=ending(Finished())) == "again"
    assert standing("in_progress", running=doing("running")) == "running"
    assert standing("in_progress", running=doing("verifying")) == "verifying"
    assert standing("closed", receipt(), end=closed()) == "checked"
    assert standing("closed", receipt(verdict=Verdict()), end=closed()) == "unchecked"
    assert standing("closed", bad) == "closed"
    assert standing("closed", end=ending(Stopped(by="ann"))) == "stopped"
    assert standing("blocked", bad, end=ending(Finished())) == "rejected"
    assert standing("blocked", receipt(claim=None), end=ending(Failed(reason="auth"))) == "failed"
    assert standing("blocked", bad, end=ending(NeedsHuman(question="?"))) == "asks"
    assert standing("blocked", end=ending(Stopped(by="ann"))) == "stopped"
    assert result_of(EntryFacts(task=None)).standing == "gone"
    assert standing("blocked") == "failed"


def test_figures_are_of_all_its_runs_and_what_no_run_told_stays_unknown():
    """A run without a receipt told nothing."""
    two = result_of(
        EntryFacts(task=a_task(), receipts=(receipt(cost=0.5), receipt(cost=1.0)), runs=2)
    )
    assert (two.cost, two.tokens, two.attempts) == (1.5, 600, 2)
    unpriced = result_of(
        EntryFacts(task=a_task(), receipts=(receipt(cost=None), receipt()), runs=2)
    )
    assert (unpriced.cost, unpriced.cost_usd, unpriced.unpriced) == (None, 0.5, 1)
    guessed = structs.replace(receipt(cost=None), estimated_usd=0.25)
    estimate = result_of(EntryFacts(task=a_task(), receipts=(guessed,), runs=1))
    assert (estimate.cost, estimate.estimated_usd, shown_cost(estimate)) == (0.25, 0.25, "~$0.25")
    lost = result_of(EntryFacts(task=a_task(), receipts=(receipt(),), runs=2))
    assert lost.cost is None
    silent = structs.replace(receipt(cost=None), usage=Usage())
    assert result_of(EntryFacts(task=a_task(), receipts=(silent,), runs=1)).tokens is None


def entry(number, coder="claude", *, model="sonnet", turn=1, **result):
    given = {"standing": "checked", "attempts": 1, "seconds": 60.0 * number, **result}
    made = Result(**given)
    return Entry(
        number=number, coder=coder, model=model, turn=turn, task_id=f"fleet-a.{number}", result=made
    )


def test_a_handful_of_tries_makes_no_rate():
    """Five do; each figure says of how many it is."""
    entries = [entry(number, cost_usd=float(number)) for number in range(1, 5)]
    (few,) = summaries(entries)
    assert (few.checked, few.over, few.checked_rate) == (4, 4, None)
    (enough,) = summaries([*entries, entry(5, standing="rejected", unpriced=1)])
    assert (enough.checked_rate, enough.unchecked, enough.unchecked_rate) == (0.8, 0, 0.0)
    (mixed,) = summaries([*entries, entry(5, standing="unchecked")])
    assert (mixed.checked, mixed.unchecked) == (4, 1)
    assert (enough.seconds.of, enough.seconds.least, enough.seconds.middle) == (5, 60.0, 180.0)
    assert (enough.cost.of, enough.cost.most) == (4, 4.0)
    assert enough.lines is None
    assert enough.tokens is None


def test_the_tables_say_what_is_not_known():
    """Unknown is a word, not a nought; an entry that never began has no figures."""
    rows = [
        entry(1, unpriced=1, size=Size(files=2, added=3, removed=1)),
        entry(2, "codex", attempts=2, unpriced=1, cost_usd=0.5, usage=Usage(output=1500)),
        entry(3, "agy", standing="waiting", attempts=0, why="its turn\ncomes"),
    ]
    head, one, two, three, why = entry_table(rows, 80)
    assert "runs" in head
    assert [word in one for word in ("unknown", "2 files +3 -1", "checked")] == [True] * 3
    assert "$0.50+?" in two
    assert "1.5k" in two
    assert "waiting" in three
    assert "$" not in three
    assert "its turn" in why
    assert "Too few to rank" in list(summary_table(summaries(rows)))[-1]


def test_an_entry_is_named_by_its_id_or_its_coder():
    """A name that may mean two is refused with the ids."""
    entries = (entry(1), entry(2, "codex", model=None), entry(3, "codex", model="o4"))
    found = Comparison(task_id="fleet-a", repository="/", commit="c", at=NOW, entries=entries)
    for word in ("fleet-a.1", "a.1", ".1", "1", "claude", "claude:sonnet"):
        assert find_entry(found, word).number == 1
    assert find_entry(found, "codex:o4").number == 3
    with pytest.raises(BadInput, match="more than one entry"):
        find_entry(found, "codex")
    with pytest.raises(BadInput, match="no entry"):
        find_entry(found, "4")


PATCH = """\
diff --git a/a b b/a b
--- a/a b
+++ b/a b
@@ -1,2 +1,2 @@
 one
-two
+2\x1b[31m
"""


def test_diffs_are_printed_one_after_the_other():
    """First the files of every entry, then the diffs; control characters are escaped."""
    file = FileChange(path="a b", kind="modified", added=1, removed=1)
    lines = [
        unstyle(line)
        for line in diff_lines(
            [
                EntryDiff(entry=entry(1), files=(file,), patch=PATCH),
                EntryDiff(entry=entry(2, "codex"), trouble="it is gone"),
            ]
        )
    ]
    assert lines[:2] == ["fleet-a.1 claude:sonnet: checked, -", "  modified" + "a b  +1 -1"]
    assert "  it is gone" in lines
    assert lines.index("  it is gone") < lines.index("── fleet-a.1 claude:sonnet ──")
    assert "+2\\x1b[31m" in lines


def test_the_size_of_a_change_is_known_only_where_the_change_is():
    """An entry whose branch is gone has no size."""
    file = FileChange(path="a", kind="modified", added=2, removed=1)
    diff = EntryDiff(entry=entry(1), files=(file, file))
    assert diff.size == Size(files=2, added=4, removed=2)
    assert EntryDiff(entry=entry(1), trouble="gone").size is None


def test_a_run_that_goes_on_shows_what_it_used_so_far():
    """Not nought and unknown until its end."""
    used = Progress(coder="claude", model="", tokens=700, estimated_usd=0.25)
    running = doing("running", started_at=NOW - timedelta(seconds=90), progress=used)
    first = receipt(cost=0.5, seconds=10.0)
    facts = EntryFacts(task=a_task(status="in_progress"), receipts=(first,), runs=2)
    result = result_of(structs.replace(facts, running=running, now=NOW))
    assert (result.seconds, result.untimed, result.tokens) == (100.0, 0, 1000)
    assert (result.cost_usd, result.estimated_usd, result.unpriced) == (0.75, 0.25, 0)
    shown = "\n".join(entry_table([entry(1, **structs.asdict(result))], 200))
    assert all(word in shown for word in ("1m 40s", "1.0k", "~$0.75"))


def test_a_time_that_no_record_tells_is_left_out():
    """Of the table with a mark, of the figures of all entries altogether."""
    lost = receipt(seconds=None, partial=True, cost=None)
    facts = EntryFacts(task=a_task(), receipts=(receipt(seconds=60.0), lost), runs=2)
    result = result_of(facts)
    assert (result.untimed, result.uncounted, result.unpriced) == (1, 1, 1)
    shown = "\n".join(entry_table([entry(1, **structs.asdict(result))], 200))
    assert "1m 00s+?" in shown
    assert "600+?" in shown
    used = Usage(output=5)
    (summary,) = summaries([entry(1, usage=used), entry(2, usage=used, untimed=1, uncounted=1)])
    assert (summary.seconds.of, summary.tokens.of) == (1, 1)


def test_the_table_of_entries_fits_eighty_columns():
    """Columns give way before a line wraps."""
    size = Size(files=12, added=1234, removed=567)
    rows = [
        entry(n, coder="opencode", model="some-long-model", size=size, seconds=7200.0, attempts=12)
        for n in (1, 2)
    ]
    assert max(len(unstyle(line)) for line in entry_table(rows, 80)) <= 80
