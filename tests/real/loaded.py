"""What a real CLI has loaded by its first request, with a user who has baggage."""

import json

from fleet.coders import make
from fleet.coders.base import Options
from fleet.schemas import Finished
from tests import baggage
from tests.real import agents
from tests.real.house import MODELS
from tests.real.test_claude import LOGIN
from tests.real.test_codex import SETTINGS
from tests.scripted_model import Say, ScriptedModel


class Request:
    """The first request of a run: what the CLI had loaded by then."""

    def __init__(self, body):
        self.text = json.dumps(body)
        self.size = len(self.text)
        self.tools = {tool.get("name") or tool["type"] for tool in body["tools"]}

    def holds(self, *words):
        return [word in self.text for word in words]


def asked(cli, context, needs=()):
    """The request of one small run with a user who has baggage."""
    with agents.desk(cli) as desk, ScriptedModel(Say()) as model:
        account = desk.home / cli
        account.mkdir()
        baggage.for_project(desk.project)
        options = Options(context=context, needs=needs)
        if cli == "claude":
            baggage.for_claude(account)
            login = LOGIN | {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CONFIG_DIR": str(account)}
        else:
            config = account / "config.toml"
            config.write_text(SETTINGS.format(url=model.url), encoding="utf-8")
            baggage.for_codex(account)
            login = {"CODEX_HOME": str(account), "CODEX_API_KEY": "script"}
        outcome, _ = desk.work(make(cli, MODELS[cli], options), **login)
        assert outcome == Finished(text="Done.")
        return Request(model.requests[0])
