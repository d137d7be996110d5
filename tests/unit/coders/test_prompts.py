"""What an agent is told."""

from pathlib import Path

from fleet.coders import make
from fleet.coders.base import Options
from fleet.coders.prompts import ARGUMENT_CAP, TEMPLATES
from tests.builders import a_task

TASK_DIR = Path("/h/tasks/fleet-abc")


def prompt(coder="claude", task=None, **options):
    return make(coder, options=Options(**options)).prompt(task or a_task(), TASK_DIR)


def test_the_prompt_holds_the_task_and_the_protocol():
    """How to go on, how to finish, how to ask: all of it in the first prompt."""
    words = prompt(task=a_task(description="Parse {braces}."))
    for needed in ("Parse {braces}.", "PLAN_AND_STATUS.md", "KNOWLEDGE.md", "Q&A.md",
                   "## Q:", "bd close", "--status blocked", "QUESTION:", "Never wait"):  # fmt: skip
        assert needed in words


def test_the_instructions_are_short():
    """Every run pays for each of these words."""
    assert sum((TEMPLATES / name).stat().st_size for name in
               ("INSTRUCTION.md", "coder_header.md.tmpl")) < 1600  # fmt: skip


def test_a_retry_is_told_how_the_last_run_ended():
    """An agent that does not know what failed does it again."""
    assert "How the last run ended" not in prompt()
    words = prompt(last_ending="The tests failed: 2 of 40.")
    assert "## How the last run ended\n\nThe tests failed: 2 of 40." in words


def test_a_resumed_session_is_not_told_everything_again():
    """It has the first prompt in its memory; it needs to know what was cut off."""
    words = prompt(resume="5678", last_ending="The machine restarted.")
    assert "The machine restarted." in words
    assert "cut off" in words
    assert "bd close fleet-abc" in words
    assert len(words) < len(prompt()) * 0.8


def test_a_prompt_in_an_argument_stays_below_the_kernels_limit():
    """A long description is cut where an argument must carry it, and nowhere else."""
    task = a_task(description="ä" * 200_000)
    assert len(prompt("agy", task).encode()) < 128 * 1024
    assert "bd show fleet-abc" in prompt("agy", task)
    assert "ä" * 200_000 in prompt("claude", task)
    assert len(prompt("agy", a_task(description="x" * ARGUMENT_CAP))) > ARGUMENT_CAP
