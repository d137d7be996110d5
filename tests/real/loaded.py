"""What a real CLI has loaded by its first request, with a user who has baggage."""

import json

from fleet.files.file_lock import exclusive
from tests import baggage
from tests.real import agents
from tests.real.house import a_house
from tests.scripted_model import Say, ScriptedModel


class Request:
    """The first request of a run: what the CLI had loaded by then."""

    def __init__(self, body):
        self.body = body
        self.text = json.dumps(body)
        self.size = len(self.text)
        self.tools = {tool.get("name") or tool["type"] for tool in body["tools"]}

    def holds(self, *words):
        return [word in self.text for word in words]


def asked(cli, context, needs=()):
    """The first request of a task that `fleet run` starts, for a user who has baggage."""
    with ScriptedModel(Say()) as model, a_house(agents.cli_directory(cli), model.url) as house:
        baggage.for_project(house.project)
        fill = {"claude": baggage.for_claude, "codex": baggage.for_codex}[cli]
        fill(house.home.parent / cli)
        wishes = [word for need in needs for word in ("--needs", need)]
        house.create(cli, "Say something", "--load", context, *wishes)
        house.fleet("run", "--until-idle")
        return Request(model.requests[0])


class Requests:
    """The first request of each CLI in each context: asked once, by any of the test processes."""

    def __init__(self, folder):
        self._folder = folder

    def __getitem__(self, key):
        kept = self._folder / f"request-{'-'.join(key)}.json"
        with exclusive(kept.with_suffix(".lock")):
            if not kept.exists():
                kept.write_text(json.dumps(asked(*key).body))
        return Request(json.loads(kept.read_text()))
