"""What the spans of a run say."""

from datetime import timedelta

from fleet.control.traces.span_table import NAMES, TracedRun, spans_of
from fleet.runs.run_directory import RunTrace
from fleet.runs.run_id import RunId
from fleet.schemas import Check, Closed, Failed, Finished, Receipt, Released, Usage, Verdict
from tests.builders import NOW, an_ending

BEGUN, STARTED = NOW - timedelta(minutes=5), NOW - timedelta(minutes=4)


def traced(ending, **fields):
    given = {"started_at": STARTED, "seconds": 60.0, "model": "m", "session_id": "s"} | fields
    receipt = Receipt(task_id="fleet-1", run=2, coder="claude", project="/p", **given)
    trace = RunTrace(task_created=NOW - timedelta(hours=1), begun=BEGUN)
    return TracedRun(id=RunId("me", "fleet-1", 2), trace=trace, receipt=receipt, ending=ending)


def test_a_run_that_closes_its_task_has_all_spans():
    """The task since its creation, and the parts of the run in their times."""
    checks = (
        Check(command="make", code=0, seconds=2.0, started_at=NOW - timedelta(seconds=30)),
        Check(command="lint", code=1, seconds=1.0, tail="no output leaves the machine"),
    )
    usage = Usage(input=1, cache_read=2, cache_write=3, output=4)
    ending = an_ending(Finished(text="words of the agent"), Closed(reason="done"))
    run = traced(
        ending, checks=checks, usage=usage, verdict=Verdict(checked=True), estimated_usd=0.5
    )
    spans = {span.name: span for span in spans_of(run)}
    assert list(spans) == ["task", "run 2", "workspace", "agent", "verify 1", "verify 2"]
    assert (spans["task"].start, spans["task"].end) == (NOW - timedelta(hours=1), NOW)
    assert (spans["workspace"].start, spans["workspace"].end) == (BEGUN, STARTED)
    assert spans["agent"].end - spans["agent"].start == timedelta(minutes=1)
    assert spans["verify 1"].start == NOW - timedelta(seconds=30)
    assert spans["verify 2"].error == "code 1"
    agent = spans["agent"].attributes
    assert agent["gen_ai.usage.input_tokens"] == 6
    assert agent["gen_ai.usage.output_tokens"] == 4
    assert agent["gen_ai.provider.name"] == "anthropic"
    run_facts = spans["run 2"].attributes
    assert (run_facts["fleet.cost_usd"], run_facts["fleet.cost_basis"]) == (0.5, "estimated")
    assert not spans["run 2"].error
    told = [name for span in spans.values() for name in span.attributes]
    assert set(told) <= set(NAMES)
    assert "leaves the machine" not in str(spans)
    assert "words of the agent" not in str(spans)


def test_a_failed_attempt_is_an_error_and_its_task_goes_on():
    """The task has its span once it is over; unknown cost is no 0."""
    run = traced(an_ending(Failed(reason="api_error", detail="x"), Released(), attempts=1))
    spans = {span.name: span for span in spans_of(run)}
    assert "task" not in spans
    assert spans["run 2"].error == spans["agent"].error == "Failed (api_error)"
    assert spans["run 2"].attributes["fleet.attempts"] == 1
    assert "fleet.cost_usd" not in spans["run 2"].attributes


def test_a_run_that_never_began_and_a_clock_that_was_set_back_make_sound_spans():
    """No span ends before it begins, and an agent that never was has none."""
    ending = an_ending(Failed(reason="never_started"), Released(), at=BEGUN - timedelta(hours=1))
    (only,) = spans_of(traced(ending, started_at=None, seconds=None))
    assert (only.name, only.start, only.end) == ("run 2", BEGUN, BEGUN)
