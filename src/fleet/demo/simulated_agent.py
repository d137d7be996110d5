"""The simulated agent: a real process that does what a coding agent does, without a model.

The process reads its prompt on stdin, prints JSON lines in the shape of Claude Code's, edits and
commits in its clone of the project, keeps notes in the artifacts directory, and reports on its task
through `bd`. The name of its model says how it behaves. `SimulatedCoder` is how fleet drives it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TextIO
from uuid import uuid4

from fleet.coders import trusted_files
from fleet.coders.base import Coder
from fleet.coders.claude import stream
from fleet.demo.script import (
    CODER,
    CONTEXT,
    HOST_TASKS,
    LIMIT_S,
    OTHER_CODER,
    QUESTION,
    TASKS,
    DemoTask,
)
from fleet.schemas import Event, Task

#: Arguments that make Python run this module; `-P` keeps modules of the project out.
_AGENT = ("-P", "-m", "fleet.demo.simulated_agent")
#: Seconds from one step to the next: slow enough to be seen.
_STEP = 0.4
#: Looks, a step apart, at what an agent waits for: its cue, or its end once its context is full.
#: A bound for a demo that is broken, and not for a machine that is slow.
_LOOKS = 600
#: The person's own git settings may not sign or refuse a commit, and no identity need be set.
_GIT_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Simulated agent"), ("EMAIL", "agent@demo.invalid"))
    },
}
#: One line in conflict: our side, what both began with if git shows that too, and their side.
_CONFLICT = re.compile(r"<{7} .*\n(.*)\n(?:\|{7} .*\n.*\n)?={7}\n(.*)\n>{7} .*\n")

_CODER_FILE = '''\
"""A coder without model, account or network, made by `fleet demo`."""

from fleet.demo.simulated_agent import SimulatedCoder


class Simulated(SimulatedCoder):
    name = "{name}"
'''


class SimulatedCoder(Coder):
    """Driven as Claude Code is. The coder is known in the demo's home only, by a file there."""

    name = CODER
    context_limit = CONTEXT
    program = sys.executable
    version_args: ClassVar[tuple[str, ...]] = (*_AGENT, "--version")
    default_model: ClassVar[str] = "steady"
    prompt_on_stdin = True
    prints_ending = True
    can_resume = True

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        del task, task_dir
        resume = ("--resume", self.options.resume) if self.options.resume else ()
        return [self.program, *_AGENT, "--model", self.model, *resume]

    def normalize_event(self, raw_line: str) -> Event | None:
        return stream.event(raw_line)


def add_coders(home: Path) -> None:
    """Put the files of both simulated coders into a home."""
    folder = home / "coders"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (CODER, OTHER_CODER):
        (folder / f"{name}.py").write_text(_CODER_FILE.format(name=name))
    trusted_files.trust(home, (CODER, OTHER_CODER), datetime.now(UTC))


class Session:
    """What one agent prints, line by line. The context grows with every answer."""

    def __init__(self, model: str, out: TextIO = sys.stdout, *, resume: str = "") -> None:
        self.model = model
        self.id = resume or str(uuid4())
        self.context = 2_000
        self._out = out
        self._answers = 0
        self._print("system", subtype="init", model=model)

    def text(self, text: str) -> None:
        self._answer({"type": "text", "text": text})

    def call(self, tool: str, **given: Any) -> str:
        """Print a tool call; returns the id for the result."""
        call = f"call-{self._answers + 1}"
        self._answer({"type": "tool_use", "id": call, "name": tool, "input": given})
        return call

    def result(self, call: str, text: str, *, failed: bool = False) -> None:
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        self._print("user", message={"role": "user", "content": [result]})

    def rate_limit(self, resets_at: float) -> None:
        info = {"status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour"}
        self._print("rate_limit_event", rate_limit_info=info)

    def end(self, text: str, *, refused: int | None = None) -> None:
        """Print the last line; `refused` is the HTTP status of a request that was refused."""
        self._print(
            "result",
            subtype="success",  # Claude Code prints this for a refused run too
            is_error=refused is not None,
            api_error_status=refused,
            num_turns=self._answers,
            result=text,
            usage={"input_tokens": self.context, "output_tokens": 40 * self._answers},
        )

    def _answer(self, block: dict[str, Any]) -> None:
        self._answers += 1
        self.context += 800
        message = {
            "id": f"{self.id[:8]}-{self._answers}",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "usage": {"input_tokens": self.context, "output_tokens": 40},
        }
        self._print("assistant", message=message)

    def _print(self, kind: str, **fields: Any) -> None:
        line = {"type": kind, **fields, "session_id": self.id}
        print(json.dumps(line), file=self._out, flush=True)


def find_task(title: str) -> DemoTask:
    """The demo task with this title."""
    return next(task for task in (*TASKS, *HOST_TASKS) if task.title == title)


def cue_file(temporary: Path, key: str) -> Path:
    """The file that lets the agent of this demo task go on."""
    return temporary / f"cue-{key}"


class Agent:
    """One session on one task, or one more run of a session."""

    def __init__(
        self, prompt: str, model: str, env: Mapping[str, str], *, resume: str = ""
    ) -> None:
        self._temporary = Path(tempfile.gettempdir())
        self.session = Session(model, resume=resume)
        memory = self._temporary / f"session-{self.session.id}"
        heading = re.match(r"# Task (\S+): (.+)", memory.read_text() if resume else prompt)
        if heading is None:
            sys.exit("the prompt names no task")
        memory.write_text(heading[0])
        self.task_id, self.task = heading[1], find_task(heading[2])
        self.artifacts = Path(env["FLEET_ARTIFACT_DIR"])
        self.first_run = not resume and "## How the last run ended" not in prompt

    def say(self, text: str) -> None:
        self.session.text(text)
        time.sleep(_STEP)

    def write(self, path: str, text: str, *, into: Path | None = None) -> None:
        """Use the tool that writes a file, below the project or `into` another directory."""
        target = (into or Path.cwd()) / path
        call = self.session.call("Write", file_path=str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.session.result(call, f"{len(text)} characters written")
        time.sleep(_STEP)

    def shell(self, *argv: str) -> None:
        """Use the tool that runs a command; exit when the command fails."""
        call = self.session.call("Bash", command=" ".join(argv))
        done = _run(argv)
        if done.returncode != 0:
            self.session.result(call, done.stderr, failed=True)
            sys.exit(f"{argv[0]} failed: {done.stderr.strip()}")
        self.session.result(call, done.stdout)
        time.sleep(_STEP)

    def commit(self, files: Sequence[str], message: str) -> None:
        self.shell("git", "add", "--", *files)
        self.shell("git", "commit", "-q", "-m", f"{message} ({self.task_id})")

    def close(self, reason: str) -> None:
        self.shell("bd", "close", self.task_id, "--reason", reason)
        self.session.end("Done.")

    def wait_for_cue(self) -> None:
        """Stay at work until the cue comes."""
        cue = cue_file(self._temporary, self.task.key)
        for _ in range(_LOOKS):
            if self.task.cue is None or cue.exists():
                return
            time.sleep(_STEP)
        sys.exit("no cue was given")

    def finish(self, files: Mapping[str, str], *, message: str = "") -> None:
        """Write and commit the files, then close the task."""
        for path, text in files.items():
            self.write(path, text)
        self.commit([*files], message or self.task.title)
        self.wait_for_cue()
        self.close(f"Wrote {', '.join(files)}")


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **_GIT_ENV}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env)


def _steady(agent: Agent) -> None:
    agent.say(f"I start with {next(iter(agent.task.files))}.")
    agent.finish(agent.task.files)


def _fragile(agent: Agent) -> None:
    """Killed half-way through the first run, as the kernel does when memory is short."""
    path, text = next(iter(agent.task.files.items()))
    if agent.first_run:
        agent.write(path, text[: len(text) // 2])
        sys.stderr.write("Out of memory\n")
        os.kill(os.getpid(), signal.SIGKILL)
    agent.say(f"{path} is cut off half-way: I write it anew.")
    agent.finish(agent.task.files)


def _curious(agent: Agent) -> None:
    """Asks a question in the first run, and follows the answer in the next."""
    talk = agent.artifacts / "Q&A.md"
    _, answered, answer = (talk.read_text() if talk.exists() else "").partition("## A:")
    if not answered:
        agent.say("Only a person can decide this.")
        agent.write(talk.name, f"## Q: {QUESTION}\n", into=agent.artifacts)
        agent.shell(
            "bd", "update", agent.task_id, "--status", "blocked", "--notes", f"QUESTION: {QUESTION}"
        )
        agent.session.end("I wait for an answer.")
        return
    agent.say(f"The answer is: {answer.strip().splitlines()[-1]}")
    agent.finish(agent.task.files)


def _throttled(agent: Agent) -> None:
    """Meets a rate limit in the first run."""
    if agent.first_run:
        agent.say("I look at what there is.")
        agent.session.rate_limit(time.time() + LIMIT_S)
        agent.session.end("You've hit your limit", refused=429)
        sys.exit(1)
    _steady(agent)


def _wordy(agent: Agent) -> None:
    """Fills the context in the first run, and goes on from notes in the next."""
    (first, text), *rest = agent.task.files.items()
    plan = agent.artifacts / "PLAN_AND_STATUS.md"
    if plan.exists():
        agent.say(f"By my notes {first} is done: I go on from there.")
        agent.finish(dict(rest), message=f"{agent.task.title}, part 2")
        return
    agent.write(first, text)
    agent.wait_for_cue()
    agent.commit([first], f"{agent.task.title}, part 1")
    agent.write(plan.name, f"1. {first}: done\n2. {rest[0][0]}: next\n", into=agent.artifacts)
    agent.session.context += 15_000
    agent.say("I read everything there is to read.")
    time.sleep(_LOOKS * _STEP)
    sys.exit("fleet did not end the session although its context is full")


def _overtaken(agent: Agent) -> None:
    """Edits a line that another task changes meanwhile; finds the merge begun, and finishes the
    merge.
    """
    readme = Path("README.md")
    if agent.first_run:
        _steady(agent)
        return
    agent.say("Another task landed first, and changed the same line: both are meant.")
    agent.write(readme.name, both_sides(readme.read_text()))
    agent.shell("git", "add", "--", readme.name)
    agent.shell("git", "commit", "-q", "--no-edit")
    agent.close(f"Merged {readme.name}: {readme.read_text().splitlines()[-1]}")


def both_sides(text: str) -> str:
    """The text with each line in conflict, `label: words`, made one with the words of both sides.

    Pure.
    """

    def joined(conflict: re.Match[str]) -> str:
        label, _, ours = conflict[1].partition(": ")
        theirs = conflict[2].partition(": ")[2]
        return f"{label}: {', '.join(sorted((ours, theirs)))}\n"

    return _CONFLICT.sub(joined, text)


def _releasing(agent: Agent) -> None:
    """Looks whether the clone holds what earlier tasks landed, and releases that."""
    agent.shell("git", "log", "--oneline", "--first-parent")
    paths = [path for task in TASKS if task.key in agent.task.needs for path in task.files]
    if missing := [path for path in paths if not Path(path).exists()]:
        sys.exit(f"not there yet: {', '.join(missing)}")
    commands = Path("README.md").read_text().splitlines()[-1]
    (path, text), *_ = agent.task.files.items()
    agent.write(path, f"{text}\n{commands}\n")
    agent.commit([path], agent.task.title)
    agent.close(f"all {len(set(paths))} files were there ({commands})")


def _forgetful(agent: Agent) -> None:
    """Ends without closing the task, in every run."""
    agent.say("I think about what could be faster.")
    agent.shell("git", "log", "--oneline", "-1")
    agent.session.end("It should be faster now.")


BEHAVIOURS: Mapping[str, Callable[[Agent], None]] = {
    "steady": _steady,
    "fragile": _fragile,
    "curious": _curious,
    "throttled": _throttled,
    "wordy": _wordy,
    "forgetful": _forgetful,
    "overtaken": _overtaken,
    "releasing": _releasing,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="simulated (no model, no network)")
    parser.add_argument("--model", choices=BEHAVIOURS, required=True)
    parser.add_argument("--resume", default="", metavar="SESSION")
    given = parser.parse_args()
    agent = Agent(sys.stdin.read(), given.model, os.environ, resume=given.resume)
    BEHAVIOURS[given.model](agent)


if __name__ == "__main__":
    main()
