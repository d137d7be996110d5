"""The real CLIs with a state of the run's own: what the operator configured is there, and nothing
that an agent leaves reaches the operator's own CLI.
"""

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need, often, only_slow
from tests.real import operator_state
from tests.real.house import CLOSE, TASK, WORK, Gate
from tests.real.operator_state import WORDS
from tests.real.test_accounts import PLUM, two_accounts
from tests.real.test_supervised_trouble import used_up
from tests.scripted_model import Say, ScriptedModel, Shell

CLIS = ("claude", "codex")
VANDAL = Path(__file__).parents[1] / "fakes/state_vandal.py"


@pytest.fixture
def operator(house):
    """Makes a house whose operator has a state of the CLI at the usual place."""

    def make(cli, model, level):
        if not try_box({}).works:
            missing("bwrap")
        here = house(cli, model)
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDE_CODE_OAUTH_TOKEN"):
            here.env.pop(name, None)
        operator_state.equip(cli, here.user, model.url)
        here.configure(sandbox=level)
        return here

    return make


def loaded(operator, cli, level, context):
    """The canaries in the first request of a run, and what changed in the operator's home."""
    with ScriptedModel(Say()) as model:
        here = operator(cli, model, level)
        before = operator_state.digest(here.user)
        here.create(cli, "Say something", "--load", context)
        here.fleet("run", "--until-idle")
        text = str(model.requests[0])
        found = {kind for kind, word in WORDS[cli].items() if word in text}
        return found, before, operator_state.digest(here.user)


@pytest.mark.parametrize("cli", CLIS)
def test_a_box_has_all_that_the_operator_configured(operator, cli):
    """The same as without a box, and not one file of the operator's home is made or changed."""
    everything = set(WORDS[cli])
    unboxed, *_ = loaded(operator, cli, "off", "full")
    assert unboxed == everything
    boxed, before, after = loaded(operator, cli, "workspace", "full")
    assert boxed == everything
    assert after == before


@only_slow
@pytest.mark.parametrize("cli", CLIS)
def test_a_lean_box_has_none_of_it(operator, cli):
    """Nothing has to be switched off that is not there."""
    boxed, before, after = loaded(operator, cli, "workspace", "lean")
    assert boxed == set()
    assert after == before


START = {
    "claude": ["claude", "-p", "hi"],
    "codex": [
        *("codex", "exec", "--model", "gpt-5", "--disable", "plugins", "--skip-git-repo-check"),
        "hi",
    ],
}


@pytest.mark.parametrize("cli", CLIS)
def test_no_agent_reaches_what_the_operators_own_cli_obeys(operator, tmp_path, cli):
    """Every path that an unboxed start of this version opens or looks for in vain, whatever a
    release adds to them: the trace is the list.
    """
    need("strace")
    mark = tmp_path / "mark"
    with ScriptedModel(Say()) as model:
        here = operator(cli, model, "workspace")
        elsewhere = here.home.parent / "elsewhere"
        elsewhere.mkdir()

        def start():
            return operator_state.looked_for(START[cli], here.env, elsewhere, here.user)

        paths = start() | start()  # the first one makes files that the second one reads
        assert len(paths) > 30
        assert model.requests, "the CLI started, and asked its model"
        before = operator_state.digest(here.user)

        shutil.copy(VANDAL, here.project / "vandal.py")
        (here.project / "paths").write_text("\n".join(sorted(paths)))
        model.script = (*model.script * len(model.requests), Shell(
            command=f"python3 vandal.py paths {mark}; python3 vandal.py paths {mark}"
        ), Say())  # fmt: skip
        here.create(cli, "Say something")
        here.fleet("run", "--until-idle")
        printed = here.runs[0].stdout.read_text()
        done = re.findall(r"vandal did (\d+) things", printed)
        assert done, printed
        assert int(done[0]) > len(paths), "it was at work in its box"
        assert operator_state.digest(here.user) == before

        asked = len(model.requests)
        start()
        assert len(model.requests) > asked
        assert "EVIL" not in str(model.requests[asked:])
        assert not mark.exists()


SECRET = {"canary": "operator-secret"}
LINK = {
    "claude": 'for it in "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl; do ln -sf {} "$it"; done',
    "codex": 'find "$CODEX_HOME/sessions" -name "rollout-*" -exec ln -sf {} "{{}}" ";"',
}


@pytest.mark.parametrize("cli", CLIS)
def test_a_session_that_moves_brings_no_file_of_the_operators(operator, cli):
    """The agent replaces its own record by a link to a file that no box shows; its account meets
    its limit, and the session would go on with another account.
    """
    refusal = lambda: used_up(cli, int(time.time()) + 3600)  # noqa: E731
    with ScriptedModel(PLUM, Say(), refusal, WORK, CLOSE, Say()) as model:
        here = operator(cli, model, "workspace")
        two_accounts(here, cli, model)
        secret = here.home.parent / "secret.json"
        secret.write_text(json.dumps(SECRET) + "\n")
        model.script = (PLUM, Shell(command=LINK[cli].format(secret)), *model.script[2:])
        here.create(cli)
        here.fleet("run", "--until-idle")
        first, second = here.ending(1), here.ending(2)
        assert first["outcome"]["type"] == "RateLimited"
        assert {first["account"], second["account"]} == {"first", "second"}
        assert second["resumed"] is False
        assert here.task()["status"] == "closed"
        assert "operator-secret" not in str(model.requests)
        kept = [path for path in here.home.rglob("*") if path.is_file() and not path.is_symlink()]
        assert not [path for path in kept if b"operator-secret" in path.read_bytes()]
        assert json.loads(secret.read_text()) == SECRET


@pytest.mark.parametrize("cli", CLIS[: often(1, 2)])
@pytest.mark.parametrize(("first", "second"), [("off", "workspace"), ("workspace", "off")])
def test_a_session_goes_on_when_a_box_is_put_up_or_taken_away(
    operator, tmp_path, cli, first, second
):
    """Its files lie in the operator's directory without a box, and in the task's own with one."""
    gate = Gate(tmp_path)
    # A call that ended: codex tells of none before, and a session without one is not carried on.
    plum, wait = Shell(command=f"bd show {TASK} # plum"), Shell(command=gate.command)
    # A CLI that is told to end may send one more request as its tool is cut off.
    with ScriptedModel(plum, wait, WORK, WORK, CLOSE, Say()) as model:
        here = operator(cli, model, first)
        here.configure(permissions="bypass")
        here.fleet("config", "set", "--project", str(here.project), f"sandbox_write={tmp_path}")
        here.create(cli)
        supervisor = here.supervise()
        gate.reached()
        supervisor.terminate()
        supervisor.wait(60)
        here.configure(sandbox=second)
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        assert [run.spec().boxed for run in here.runs] == [first != "off", second != "off"]
        assert here.ending(2)["resumed"] is True
        assert here.ending(2)["session_id"] == here.ending(1)["session_id"]
        assert "plum" in str(model.requests[-1])
        assert not [run for run in here.runs if (run.path / "cli").exists()]
