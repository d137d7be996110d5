"""A simulated agent: a real process that does what a coding agent does, without a model.

It reads its prompt on stdin, prints a JSON stream, edits and commits in the project, keeps its
notes in the artifacts directory, and tells fleet about its task through `bd`. How it behaves is
its model's name.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet.demo.agent_stream import Stream
from fleet.demo.script import LIMIT_S, QUESTION, Manner, scene_of

#: Seconds from one step to the next: fast enough for the impatient, slow enough to be seen.
PACE = 0.4
#: How long it waits to be ended once its context is full. Fleet takes milliseconds.
PATIENCE = 20.0
#: Other agents commit in the same project: git lets one do so at a time.
GIT_TRIES = 40


class Agent:
    """One session on one task."""

    def __init__(self, prompt: str, manner: str, env: Mapping[str, str]) -> None:
        found = re.match(r"# Task (\S+): (.+)", prompt)
        if found is None:
            sys.exit("the prompt names no task")
        self.task_id, self.scene = found[1], scene_of(found[2])
        self.artifacts = Path(env["FLEET_ARTIFACT_DIR"])
        self.first = "## How the last run ended" not in prompt
        self.stream = Stream(manner)

    def says(self, text: str) -> None:
        self.stream.says(text)
        time.sleep(PACE)

    def write(self, path: str, text: str, *, into: Path | None = None) -> None:
        """Use the tool that writes a file; into the project, unless told otherwise."""
        target = (into or Path.cwd()) / path
        call = self.stream.calls("Write", file_path=str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.stream.got(call, f"{len(text)} characters written")
        time.sleep(PACE)

    def shell(self, *argv: str, tries: int = 1) -> None:
        """Use the tool that runs a command, and give up if the command does."""
        call = self.stream.calls("Bash", command=" ".join(argv))
        done = _ran(argv)
        while done.returncode != 0 and (tries := tries - 1) > 0:
            time.sleep(0.1)
            done = _ran(argv)
        if done.returncode != 0:
            self.stream.got(call, done.stderr, failed=True)
            sys.exit(f"{argv[0]} failed: {done.stderr.strip()}")
        self.stream.got(call, done.stdout)
        time.sleep(PACE)

    def commit(self, files: Sequence[str], message: str) -> None:
        self.shell("git", "add", "--", *files, tries=GIT_TRIES)
        self.shell(
            "git", "commit", "-q", "-m", f"{message} ({self.task_id})", "--", *files,
            tries=GIT_TRIES,
        )  # fmt: skip

    def finish(self, files: Mapping[str, str], *, message: str = "") -> None:
        """Write, commit, say that it is done."""
        for path, text in files.items():
            self.write(path, text)
        self.commit([*files], message or self.scene.title)
        self.shell("bd", "close", self.task_id, "--reason", f"Wrote {', '.join(files)}")
        self.stream.ends("Done.")


def _ran(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def steady(agent: Agent) -> None:
    agent.says(f"I start with {next(iter(agent.scene.files))}.")
    agent.finish(agent.scene.files)


def fragile(agent: Agent) -> None:
    """Killed half-way through its first run, as by the kernel when memory is short."""
    path, text = next(iter(agent.scene.files.items()))
    if agent.first:
        agent.write(path, text[: len(text) // 2])
        sys.stderr.write("Out of memory\n")
        os.kill(os.getpid(), signal.SIGKILL)
    agent.says(f"{path} is cut off half-way: I write it anew.")
    agent.finish(agent.scene.files)


def curious(agent: Agent) -> None:
    """Asks a person first, and goes by the answer."""
    talk = agent.artifacts / "Q&A.md"
    _, answered, answer = (talk.read_text() if talk.exists() else "").partition("## A:")
    if not answered:
        agent.says("Only a person can decide this.")
        agent.write(talk.name, f"## Q: {QUESTION}\n", into=agent.artifacts)
        agent.shell(
            "bd", "update", agent.task_id, "--status", "blocked", "--notes", f"QUESTION: {QUESTION}"
        )
        agent.stream.ends("I wait for an answer.")
        return
    words = answer.strip().splitlines()[-1]
    agent.says(f"The answer is: {words}")
    agent.finish(agent.scene.files)


def throttled(agent: Agent) -> None:
    """Refused by its vendor for a while."""
    if agent.first:
        agent.says("I look at what there is.")
        agent.stream.limited(time.time() + LIMIT_S)
        agent.stream.ends("You've hit your limit", refused=429)
        sys.exit(1)
    steady(agent)


def wordy(agent: Agent) -> None:
    """Fills its context, and goes on in the next session where its notes say."""
    (first, text), *rest = agent.scene.files.items()
    plan = agent.artifacts / "PLAN_AND_STATUS.md"
    if plan.exists():
        agent.says(f"By my notes {first} is done: I go on from there.")
        agent.finish(dict(rest), message=f"{agent.scene.title}, part 2")
        return
    agent.write(first, text)
    agent.commit([first], f"{agent.scene.title}, part 1")
    agent.write(plan.name, f"1. {first}: done\n2. {rest[0][0]}: next\n", into=agent.artifacts)
    agent.stream.context += 15_000
    agent.says("I read everything there is to read.")
    time.sleep(PATIENCE)
    sys.exit("nobody minded that the context is full")


def forgetful(agent: Agent) -> None:
    """Talks a while, and ends without a word to fleet."""
    agent.says("I think about what could be faster.")
    agent.shell("git", "log", "--oneline", "-1")
    agent.stream.ends("It should be faster now.")


MANNERS: Mapping[Manner, Callable[[Agent], None]] = {
    "steady": steady,
    "fragile": fragile,
    "curious": curious,
    "throttled": throttled,
    "wordy": wordy,
    "forgetful": forgetful,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="simulated (no model, no network)")
    parser.add_argument("--model", choices=MANNERS, required=True)
    given = parser.parse_args()
    MANNERS[given.model](Agent(sys.stdin.read(), given.model, os.environ))


if __name__ == "__main__":
    main()
