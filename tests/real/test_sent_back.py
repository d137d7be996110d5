"""A conflict between two tasks of real CLIs, in their boxes: the one whose work came later resolves
it in its own session, and both land.
"""

import subprocess
import threading

from fleet.home import Home, landing_json
from fleet.sandbox.try_box import try_box
from tests.conftest import coders, missing, only_slow
from tests.real.house import CLOSE, MODELS, TASK, hear
from tests.scripted_model import Say, ScriptedModel, Shell

OTHER = "fleet-xyz"
OWN = Shell(command="printf 'one\\nmine\\nthree\\n' > table && git commit -qam 'my table'")
THEIRS = Shell(command="printf 'one\\ntheirs\\nthree\\n' > table && echo new > more"
               " && git add -A && git commit -qm 'their table'")  # fmt: skip
CLOSE_OTHER = Shell(command=f'bd close {OTHER} --reason "wrote theirs"')
#: Only where the merge is begun: both sides stand in the file, and the rest is merged.
RESOLVE = Shell(
    command="git rev-parse -q --verify MERGE_HEAD && grep -q '^<<<<<<<' table && test -e more"
    " && printf 'one\\nmine and theirs\\nthree\\n' > table && git add table"
    " && git commit -q --no-edit; git status"
)


#: A short command: codex goes on without one that takes long.
WAIT = Shell(command="sleep 1")


class TwoAgents(ScriptedModel):
    """Each agent has a script of its own; the first one waits after its work to be let on."""

    def __init__(self):
        super().__init__(Say())
        self.go = threading.Event()
        self.talks = {TASK: [], OTHER: []}
        self._left = {TASK: [OWN, CLOSE, Say(), RESOLVE, CLOSE, Say()],
                      OTHER: [THEIRS, CLOSE_OTHER, Say()]}  # fmt: skip

    def take(self, body, login=""):
        if not body.get("tools"):
            return Say(text="aside")
        super().take(body, login)
        who = OTHER if f"# Task {OTHER}:" in str(body) else TASK
        left, talk = self._left[who], self.talks[who]
        if who == TASK and talk and not self.go.is_set():
            return WAIT
        talk.append(str(body))
        return left.pop(0) if len(left) > 1 else left[0]


def in_project(here, *words):
    argv = ["git", "-C", str(here.project), *words]
    return subprocess.check_output(argv, env=here.env, text=True).rstrip("\n")


@only_slow
@coders("codex")
def test_a_conflict_goes_back_to_the_session_that_did_the_work(house, coder):
    """Same task, same clone, same session, no attempt; what lands is the agent's own merge."""
    if not try_box({}).works:
        missing("bwrap")
    with TwoAgents() as model:
        here = house(coder, model)
        (here.project / "table").write_text("one\ntwo\nthree\n")
        who = ["config", "user.name", "Ann"], ["config", "user.email", "ann@example.org"]
        for words in (["init", "-qb", "main"], *who, ["add", "-A"], ["commit", "-qm", "start"]):
            in_project(here, *words)
        here.configure(sandbox="workspace", land="auto", retry_limit=1)
        here.fleet("config", "set", "--project", str(here.project), "verify=test -s table")
        here.create(coder, "Write my table")
        supervisor = here.supervise("--until-idle")
        model.wait_for(2)
        flags = ("--silent", "--id", OTHER, "--coder", coder, "--model", MODELS[coder])
        here.fleet("bd", "create", *flags, "Write their table")
        hear(supervisor, f"{OTHER}: landed on main")
        model.go.set()
        hear(supervisor, f"{TASK}: sent back to its agent (try 1)")
        assert supervisor.wait(120) == 0, supervisor.stdout.read()

        assert here.task()["status"] == "closed"
        first, second = here.ending(1), here.ending(2)
        assert len(here.runs) == 2
        assert second["session_id"] == first["session_id"] != ""
        assert (second["resumed"], second["attempts"]) == (True, 0)
        # Its memory, and what it was told.
        talk = model.talks[TASK][3]
        assert "my table" in talk
        told = talk.split("carried on in the same session")[1]
        for words in ("could not land on `main`", "`table`", f"- {OTHER}: Write their table",
                      "+theirs"):  # fmt: skip
            assert words in told
        # Both are on the branch, by the merge that the agent made in its own name.
        assert in_project(here, "show", "main:table") == "one\nmine and theirs\nthree"
        assert in_project(here, "show", "main:more") == "new"
        assert "my table by Ann" in in_project(here, "log", "--format=%s by %an", "main")
        landing = landing_json.believed(Home(here.home), TASK)
        assert (landing.state, landing.tries) == ("landed", 1)
        assert in_project(here, "show", "-s", "--format=%P", landing.commit).count(" ") == 1
        assert f"Fleet-Task: {TASK}" in in_project(here, "log", "-1", "--format=%B", "main")
        assert here.alive() == []
