"""The ids of traces and spans follow from what the records say."""

import re
from datetime import timedelta

from fleet.runs.run_id import RunId
from fleet.runs.trace_ids import part_span, run_span, task_span, trace_id, traceparent
from tests.builders import NOW

RUN, NEXT = RunId("me", "fleet-1", 1), RunId("me", "fleet-1", 2)


def test_runs_of_a_task_share_a_trace_and_no_span():
    """Also where a queue keeps the moment of creation less exactly than another."""
    created = NOW + timedelta(microseconds=123_456)
    trace = trace_id(RUN, created)
    assert trace == trace_id(NEXT, NOW)
    spans = {run_span(RUN), run_span(NEXT), task_span(trace)}
    spans |= {part_span(run, part) for run in (RUN, NEXT) for part in ("agent", "verify 1")}
    assert len(spans) == 7


def test_another_home_and_an_id_that_is_used_again_have_a_trace_of_their_own():
    """Two homes may both have a task fleet-1, and so may one home after another."""
    others = (trace_id(RunId("you", "fleet-1", 1), NOW), trace_id(RUN, NOW + timedelta(days=1)))
    assert len({trace_id(RUN, NOW), *others}) == 3


def test_an_agent_is_given_its_own_span_as_w3c_writes_it():
    """The same words before the start and after any kill."""
    given = traceparent(RUN, NOW)
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", given)
    assert part_span(RUN, "agent") in given
