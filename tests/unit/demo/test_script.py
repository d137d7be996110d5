"""The play of `fleet demo`, and what its agents print."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from fleet import coders
from fleet.coders.stream.run_totals import Reading
from fleet.demo.agent_stream import Stream
from fleet.demo.script import CODER, CONTEXT, KILLED_DURING, OTHER_CODER, SCENES, Manner, scene_of
from fleet.demo.simulated_agent import MANNERS
from fleet.demo.simulated_coder import SimulatedCoder, add_coders
from fleet.schemas import Finished, RateLimited

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def read(printed: str) -> Reading:
    """What fleet makes of an agent's lines."""
    coder, reading = SimulatedCoder(), Reading()
    for line in printed.splitlines():
        event = coder.read(line, NOW)
        assert event is not None
        assert event.kind not in ("unknown", "bad"), line
        reading.add(event)
    return reading


def test_a_scene_comes_after_those_it_needs():
    """Tasks are made in this order, and a dependency needs an id."""
    before = set()
    for scene in SCENES:
        assert before >= set(scene.needs), scene.title
        before.add(scene.key)


def test_every_manner_is_played():
    """No trouble is promised that nobody meets."""
    assert {scene.manner for scene in SCENES} == set(get_args(Manner)) == set(MANNERS)


def test_no_two_agents_write_the_same_file():
    """They work in one directory at the same time."""
    paths = [path for scene in SCENES for path in scene.files]
    assert len(paths) == len(set(paths))


def test_a_scene_is_found_by_its_title():
    """That is all an agent knows of its task."""
    assert [scene_of(scene.title) for scene in SCENES] == list(SCENES)


def test_somebody_is_at_work_when_the_supervisor_is_killed():
    """The scene exists, and its first agent does not end by itself."""
    assert next(scene for scene in SCENES if scene.key == KILLED_DURING).manner == "wordy"


def test_a_simulated_agent_that_ends_well_is_read_as_finished():
    """The stream is one that fleet's own reader knows, line by line."""
    out = io.StringIO()
    stream = Stream("steady", out)
    stream.says("I begin.")
    stream.got(stream.calls("Write", file_path="a.py"), "written")
    stream.ends("Done.")
    reading = read(out.getvalue())
    assert (reading.tool_calls, reading.tool_results, reading.model) == (1, 1, "steady")
    assert reading.session_id == stream.session
    assert SimulatedCoder().outcome(reading, 0, None) == Finished(text="Done.")


def test_a_simulated_limit_is_read_with_its_reset():
    """Fleet waits for the moment that the stream names."""
    out = io.StringIO()
    reset = NOW + timedelta(seconds=4)
    stream = Stream("throttled", out)
    stream.limited(reset.timestamp())
    stream.ends("You've hit your limit", refused=429)
    outcome = SimulatedCoder().outcome(read(out.getvalue()), 1, None)
    assert isinstance(outcome, RateLimited)
    assert outcome.limit.resets_at == reset


def test_a_simulated_context_grows_with_every_answer():
    """It is what fleet ends a session for."""
    out = io.StringIO()
    stream = Stream("wordy", out)
    stream.says("a little")
    before = read(out.getvalue()).context_tokens
    stream.context += CONTEXT
    stream.says("a lot")
    assert before is not None
    assert before < CONTEXT < read(out.getvalue()).context_tokens


def test_every_line_names_its_session():
    """As the original's do."""
    out = io.StringIO()
    stream = Stream("steady", out)
    stream.says("x")
    stream.ends("y")
    assert {json.loads(line)["session_id"] for line in out.getvalue().splitlines()} == {
        stream.session
    }


@pytest.mark.parametrize("name", [CODER, OTHER_CODER])
def test_the_simulated_coders_are_found_in_the_demos_home_only(tmp_path, name):
    """Nobody can take one for a real coder, or choose it by mistake."""
    assert name not in coders.names(tmp_path)
    add_coders(tmp_path)
    coder = coders.make(name, "curious", home=tmp_path)
    assert (coder.name, coder.model) == (name, "curious")
    assert coders.problems(tmp_path) == {}
    assert name not in coders.names()
