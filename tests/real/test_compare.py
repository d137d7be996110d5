"""`fleet compare` with the real claude and codex: one task, two agents, one scripted model."""

import json
import re

from tests.conftest import only_slow
from tests.real import agents
from tests.real.house import TASK, WORK
from tests.repos import Repo
from tests.scripted_model import Say, ScriptedModel, Shell

ENTRY = re.compile(rf"{TASK}\.\d")


class ModelForBoth(ScriptedModel):
    """Plays the whole script to each of the two CLIs, at the same time."""

    def take(self, body, login=""):
        # It reads which of the two tasks it is asked about, as a model would.
        found = ENTRY.search(json.dumps(body))
        own = [asked for asked in self.requests if ("input" in asked) == ("input" in body)]
        step = super().take(body, login)
        if not body.get("tools") or found is None:
            return step
        close = Shell(command=f'bd close {found[0]} --reason "wrote it"')
        return [WORK, close, Say(text="Done.")][min(len(own), 2)]


@only_slow
def test_claude_and_codex_try_the_same_task(house):
    """Both are verified by the same command, from the same commit; one lands."""
    agents.cli_directory("codex")
    with ModelForBoth(Say(text="Done.")) as model:
        here = house("claude", model)
        repo = Repo(here.project)
        first = repo.commit(README="read me\n")
        check = ("--verify", "test -e a.txt")
        here.fleet("bd", "create", "--silent", "--id", TASK, *check, "Write a.txt")
        coders = ("--with", "claude:sonnet", "--with", "codex:gpt-5")
        told = json.loads(here.fleet("compare", TASK, *coders, "--run", "--json"))
        assert told["commit"] == first
        entries = {entry["coder"]: entry for entry in told["entries"]}
        assert {each["standing"] for each in entries.values()} == {"checked"}, [
            each["why"] for each in entries.values()
        ]
        for each in entries.values():
            assert each["tokens"] > 0
            assert each["size"] == {"files": 1, "added": 0, "removed": 0}
        # claude tells what it cost; codex does not.
        assert entries["claude"]["known_cost_usd"] > 0
        here.fleet("compare", TASK, "--pick", "codex")
        assert (here.project / "a.txt").exists()
        assert here.task()["status"] == "closed"
        assert repo.git("status", "--porcelain") == ""
        assert repo.git("branch", "--format=%(refname:short)") == "main"
