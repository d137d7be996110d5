"""What the end of a run comes to, by what is left of it."""

import pytest

from fleet.coders.claude import ClaudeCoder
from fleet.config import Config
from fleet.evidence.inspect_run import Inspection
from fleet.processes.keeper_client import Ended
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Exit, RunSpec, new_run
from fleet.schemas import (
    Blocked,
    Failed,
    LimitExceeded,
    NeedsHuman,
    Released,
    Stalled,
    Stopped,
)
from fleet.schemas.decision import NO_ROOM
from fleet.settlement.end_run import end_of, outcome_of
from fleet.settlement.run_record import ExitedRun, RunRecord
from tests.builders import NOW, a_task


@pytest.mark.parametrize(
    ("gone", "words", "claim", "settlement"),
    [
        pytest.param(True, 0, None, Blocked, id="removed as it began"),
        pytest.param(True, 1, None, Released, id="removed by its agent"),
        pytest.param(True, 0, "done", Released, id="removed after its claim"),
        pytest.param(False, 0, None, Released, id="still there"),
    ],
)
def test_a_directory_that_is_removed_as_a_run_begins_costs_no_attempt(
    home, tmp_path, gone, words, claim, settlement
):
    """A start that finds no directory is no attempt either; a person is told which one it is."""
    cwd = tmp_path / "project"
    if not gone:
        cwd.mkdir()
    task, spec = a_task(id="fleet-1", cwd=str(cwd)), RunSpec(argv=("claude",), cwd=str(cwd))
    record = RunRecord(task, new_run(home.task(task.id), spec), ClaudeCoder(), env={}, spec=spec)
    record.stream.heard = words
    exited = Exit(code=1, started_at=NOW, ended_at=NOW, seconds=0.1)
    end = end_of(
        ExitedRun(record=record, process_end=Ended(exited), said=AgentClaim(done=claim)),
        Failed(reason="unknown"), Inspection(), Config(), NOW, fence=1, jitter=0.0,
    )  # fmt: skip
    assert isinstance(end.ending.settlement, settlement)
    assert end.ending.counts == (settlement is Released)
    assert (f"its directory {cwd} is not there" in end.ending.why) == (settlement is Blocked)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (None, Stopped(by=NO_ROOM)),
        (Stalled(rung="silent"), Stopped(by=NO_ROOM)),
        (Stopped(by="ada"), Stopped(by="ada")),
        (LimitExceeded(limit="output"), LimitExceeded(limit="output")),
    ],
)
def test_a_run_whose_output_found_no_room_is_not_judged_by_it(home, tmp_path, reason, outcome):
    """An agent that waits for room looks stalled, and its stream ends in the middle."""
    task, spec = a_task(id="fleet-1", cwd=str(tmp_path)), RunSpec(argv=("x",), cwd=str(tmp_path))
    record = RunRecord(task, new_run(home.task(task.id), spec), ClaudeCoder(), env={}, spec=spec)
    exited = Exit(
        code=None, signal=9, stop="graceful", started_at=NOW, ended_at=NOW, seconds=9.0,
        short="stdout: No space left on device",
    )  # fmt: skip
    ended = ExitedRun(
        record=record, process_end=Ended(exited), said=AgentClaim(), stop_reason=reason
    )
    assert outcome_of(ended) == outcome


@pytest.mark.parametrize(("parked", "asks"), [(True, True), (False, True), (None, False)])
def test_a_claim_takes_back_no_question_that_a_person_was_asked(home, tmp_path, parked, asks):
    """Whether the agent was parked or its call was cut off; an answer that it heard lets it be."""
    task, spec = a_task(id="fleet-1", cwd=str(tmp_path)), RunSpec(argv=("x",), cwd=str(tmp_path))
    record = RunRecord(task, new_run(home.task(task.id), spec), ClaudeCoder(), env={}, spec=spec)
    task_dir = record.run.task_dir
    asked, _ = asked_json.ask(task_dir, "Which?", run=record.run.number, at=NOW)
    if parked:
        asked_json.park(task_dir, asked.id, at=NOW)
    elif parked is None:
        asked_json.answer(task_dir, asked.id, "the first", by="ada", at=NOW)
    exited = Exit(code=0, started_at=NOW, ended_at=NOW, seconds=9.0)
    said = AgentClaim(done="all of it")
    outcome = outcome_of(ExitedRun(record=record, process_end=Ended(exited), said=said))
    assert (outcome == NeedsHuman(question="Which?")) is asks
