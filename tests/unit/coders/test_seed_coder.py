"""The coder of the documentation's own example, pasted in as it stands there."""

import asyncio
import inspect
import sys
from pathlib import Path

import pytest

import fleet.coders
from fleet.coders.agent_environment import agent_env
from fleet.coders.base import Coder, Options
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Failed, Finished
from tests.builders import a_task
from tests.streams import READ_AT

EXAMPLE = '''\
import json
from datetime import datetime, timezone
from pathlib import Path

from fleet.coders.base import Coder
from fleet.schemas import Event, Task

_TEMPLATES_DIR = Path(__file__).parent.parent / "templates"
_INSTRUCTION_PATH = _TEMPLATES_DIR / "INSTRUCTION.md"
_HEADER_PATH = _TEMPLATES_DIR / "coder_header.md.tmpl"


class MyCoder(Coder):
    name = "mycoder"          # unique name used in fleet bd create --coder
    context_limit = 128_000   # used to compute context-pressure threshold

    def __init__(self, model: str = "my-default-model") -> None:
        self.model = model

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        """Return the argv list passed to asyncio.create_subprocess_exec()."""
        artifacts_dir = task_dir / "artifacts"
        instructions = _INSTRUCTION_PATH.read_text(encoding="utf-8").strip()
        invocation_line = f"Invocation directory: {task.cwd}" if task.cwd else ""
        header = _HEADER_PATH.read_text(encoding="utf-8").format(
            task_id=task.id,
            task_title=task.title,
            task_description=task.description or "",
            task_dir=task_dir,
            artifacts_dir=artifacts_dir,
            invocation_line=invocation_line,
        ).strip()
        prompt = f"{header}\\n\\n---\\n\\n{instructions}"
        return ["mycli", "--model", self.model, "--json", prompt]

    def env(self, task: Task, task_dir: Path) -> dict[str, str]:
        """Return env-var overlay merged on top of os.environ before spawn.

        These three keys are REQUIRED — the agent reads them to locate its
        artifact directory and write PLAN_AND_STATUS.md / KNOWLEDGE.md.
        """
        return {
            "FLEET_TASK_ID": task.id,
            "FLEET_TASK_DIR": str(task_dir),
            "FLEET_ARTIFACT_DIR": str(task_dir / "artifacts"),
        }

    def normalize_event(self, raw_line: str) -> Event | None:
        """Parse one stdout line from the subprocess into a normalized Event.

        Return None for any line you want to discard.  Must be pure — no I/O.
        """
        if not raw_line.strip():
            return None
        try:
            data = json.loads(raw_line)
        except (json.JSONDecodeError, ValueError):
            return None
        ts = datetime.now(tz=timezone.utc)
        kind = data.get("type", "")
        if kind == "started":
            return Event(kind="session_started", raw=data, ts=ts)
        if kind == "finished":
            return Event(kind="session_ended", raw=data, ts=ts, usage=data.get("usage"))
        return None
'''

TASK_DIR = Path("/home/me/.fleet/tasks/fleet-abc")


@pytest.fixture
def my_coder(tmp_path, monkeypatch):
    """The class, from a module that lies where the documentation says: beside fleet's own."""
    package = tmp_path / "fleet"
    (package / "coders").mkdir(parents=True)
    (package / "templates").symlink_to(Path(fleet.coders.__file__).parent.parent / "templates")
    (package / "coders" / "mycoder.py").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.setattr(fleet.coders, "__path__", [*fleet.coders.__path__, str(package / "coders")])
    from fleet.coders.mycoder import MyCoder

    monkeypatch.setitem(fleet.coders._REGISTRY, "mycoder", MyCoder)
    yield MyCoder
    del sys.modules["fleet.coders.mycoder"]
    del fleet.coders.mycoder


def test_the_example_is_registered_by_one_line(my_coder):
    """A class in the registry is a coder like any other."""
    assert "mycoder" in fleet.coders.names()
    coder = fleet.coders.make("mycoder", "my-model", Options(resume="s"))
    assert isinstance(coder, my_coder)
    assert (coder.model, coder.options.resume) == ("my-model", "s")
    assert fleet.coders.make("mycoder").model == "my-default-model"
    assert fleet.coders.make("mycoder", "sonnet", inherited=True).model == "my-default-model"
    assert fleet.coders.make("mycoder", "sonnet").model == "sonnet"


def test_the_templates_take_exactly_the_six_fields(my_coder):
    """Braces in a title or a description are text, and nothing is left unfilled."""
    task = a_task(title="Fix {this}", description="{} {0} {nope!r}", cwd="/my/project")
    *argv, prompt = my_coder("m").build_argv(task, TASK_DIR)
    assert argv == ["mycli", "--model", "m", "--json"]
    assert "# Task fleet-abc: Fix {this}" in prompt
    assert "{} {0} {nope!r}" in prompt
    assert "Invocation directory: /my/project" in prompt
    assert str(TASK_DIR / "artifacts") in prompt
    assert "bd close" in prompt


def test_the_example_runs_with_every_optional_member_at_its_default(my_coder):
    """What the supervisor asks of a coder has an answer that the example did not have to give."""
    coder = my_coder()
    assert not coder.prompt_on_stdin
    assert not coder.can_resume
    assert coder.second_stream("s", {}) is None
    assert coder.version_args == (), "fleet starts a program with no arguments that it did not name"
    assert coder.prompt(a_task(), TASK_DIR).startswith("# Task fleet-abc: Add a parser")
    env = agent_env({"PATH": "/bin", "OPENAI_API_KEY": "k"}, coder, a_task(), TASK_DIR)
    assert env["FLEET_TASK_ID"] == "fleet-abc"
    assert "OPENAI_API_KEY" not in env


def test_the_examples_own_end_is_an_end(my_coder):
    """`session_ended` needs no further word, and its time is the coder's own."""
    coder, reading = my_coder(), RunTotals()
    event = coder.read('{"type": "finished", "usage": {"n": 1}}', READ_AT)
    reading.add(event)
    assert event.usage == {"n": 1}
    assert event.ts != READ_AT
    assert coder.outcome(reading, 0, None) == Finished()
    assert coder.outcome(reading, 1, None) == Failed(reason="exit_code")


def test_a_coder_that_never_tells_an_end_is_believed_on_its_exit(my_coder):
    """A CLI without a word of success still ends; the verdict is another's task."""
    assert my_coder().outcome(RunTotals(), 0, None) == Finished()
    assert my_coder().outcome(RunTotals(), 2, None).reason == "never_started"


def test_a_line_that_breaks_a_coder_is_one_bad_line(my_coder):
    """The example takes every line for an object; a list must cost the line, not the run."""
    reading = RunTotals()
    reading.add(my_coder().read("[1, 2]", READ_AT))
    reading.add(my_coder().read("plain text", READ_AT))
    assert (reading.kinds["bad"], reading.events) == (1, 1)


def test_the_contract_has_only_two_methods_that_must_be_written():
    """`env` has a right default already; the other two have none."""
    assert Coder.__abstractmethods__ == {"build_argv", "normalize_event"}
    for method in ("build_argv", "env", "normalize_event"):
        assert not asyncio.iscoroutinefunction(getattr(Coder, method))
    assert list(inspect.signature(Coder.build_argv).parameters) == ["self", "task", "task_dir"]
    assert list(inspect.signature(Coder.normalize_event).parameters) == ["self", "raw_line"]
