"""Real agent CLIs on several accounts: a session that moves with its history, a key that leaks."""

import json
import time

from tests.conftest import coders
from tests.real.house import CLOSE, TASK, WORK
from tests.real.test_codex import SETTINGS
from tests.real.test_supervised_trouble import used_up
from tests.scripted_model import Say, ScriptedModel, Shell

PLUM = Shell(command=f"bd show {TASK} # plum")


def two_accounts(here, coder, model):
    """Two logins of one coder, each with a key in a file and a directory of its own."""
    for name in ("first", "second"):
        secret = here.home.parent / f"{name}.key"
        secret.write_text(f"token-{name}\n")
        secret.chmod(0o600)
        here.fleet("account", "add", name, "--coder", coder, "--secret", f"file:{secret}", "--only")
        folder = here.home / "accounts" / name
        if coder == "codex":
            (folder / "config.toml").write_text(SETTINGS.format(url=model.url), encoding="utf-8")
        else:
            own = {"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}
            (folder / "settings.json").write_text(json.dumps(own), encoding="utf-8")


@coders("codex")
def test_a_limit_in_mid_work_moves_the_session_to_the_other_account(house, coder):
    """At once, with its memory, on the other login, and at no attempt."""
    refusal = lambda: used_up(coder, int(time.time()) + 3600)  # noqa: E731
    with ScriptedModel(PLUM, refusal, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        two_accounts(here, coder, model)
        here.create(coder)
        here.fleet("run", "--until-idle")

        first, second = here.ending(1), here.ending(2)
        assert (first["outcome"]["type"], first["counts"]) == ("RateLimited", False)
        assert {first["account"], second["account"]} == {"first", "second"}
        assert second["session_id"] == first["session_id"]
        assert second["resumed"] is True
        tokens = [f"token-{first['account']}"] * 2 + [f"token-{second['account']}"] * 3
        assert model.logins == tokens
        assert "plum" in str(model.requests[2]), "its history came with it"
        assert here.task()["status"] == "closed"
        assert list(here.cooling()) == [first["account"]]
        usage = json.loads(here.fleet("accounts", "--json"))
        full = {row["account"]["name"]: row["shut"] for row in usage}
        # By the window that the rollout names, or by the sentence of the CLI if that is read first.
        assert "waits for its limit to reset" in full[first["account"]]
        assert full[second["account"]] == ""


def test_a_key_that_leaks_into_a_run_is_caught_before_it_is_used_up(house):
    """A project's settings set one, which beats the login and bills by the token."""
    with ScriptedModel(Shell(command="sleep 60"), WORK, CLOSE, Say()) as model:
        here = house("claude", model)
        two_accounts(here, "claude", model)
        settings = here.project / ".claude/settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"env": {"ANTHROPIC_API_KEY": "sk-leaked"}}))
        here.create("claude", "Write a.txt", "--account", "first")
        here.fleet("run", "--until-idle")

        ending = here.ending(1)
        assert ending["outcome"]["reason"] == "wrong_account"
        assert "bills by the token" in ending["why"]
        assert ending["counts"] is False
        assert here.task()["status"] == "blocked"
        assert len(model.requests) <= 1
        assert here.alive() == []
