"""Fleet answers bd's commands around tasks as the bd 1.3.0 on this machine does, and JSON lines
travel between the two without loss.
"""

import json
import re
import shutil

import pytest

from fleet.queue.embedded import open_embedded
from tests.contract.bd_desk import Clock, Desk
from tests.contract.test_bd_transfer import fill, lines
from tests.real.bd_parity import Line, RealBd, Script, differences

pytestmark = pytest.mark.timeout(300)


def _task(name, **fields):
    at = fields.pop("at", "2026-01-01T00:00:00Z")
    return {
        "id": f"fleet-{name}",
        "title": f"Task {name}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "created_at": at,
        "updated_at": at,
        "created_by": "alice",
        **fields,
    }


def _child(name, parent, **fields):
    edge = {
        "issue_id": f"fleet-{name}",
        "depends_on_id": f"fleet-{parent}",
        "type": "parent-child",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": "alice",
    }
    return _task(name, dependencies=[edge], **fields)


PLAIN = [_task(name, at=f"2026-01-0{n}T00:00:00Z") for n, name in enumerate("abcdef", start=1)]
FAMILY = [
    _task("e", issue_type="epic", at="2026-01-01T00:00:00Z"),
    _child("e.1", "e", at="2026-01-02T00:00:00Z"),
    _child("k", "e", at="2026-01-03T00:00:00Z", status="closed", closed_at="2026-01-04T00:00:00Z"),
    _task("x", at="2026-01-05T00:00:00Z"),
]
CLOSED = {"status": "closed", "closed_at": "2026-01-02T00:00:00Z"}

SCRIPTS = {
    "edges": Script(
        seed=PLAIN,
        lines=[
            "= dep add fleet-a fleet-b",
            "~ dep add fleet-a fleet-b --json",
            "~ = dep add fleet-a fleet-b -t related",
            "= dep add fleet-a fleet-a",
            "~ = dep add b a --json",
            "= dep add fleet-b fleet-c",
            "~ = dep add fleet-a nope",
            "~ = dep add fleet-a",
            "= dep add fleet-c --blocked-by fleet-d",
            "~ = dep add fleet-a fleet-d -t weird",
            "~ = dep add fleet-a fleet-d -t waits-for",
            "dep fleet-d --blocks fleet-e --json",
            "~ = dep x y",
            "~ = dep list fleet-a",
            "~ dep list fleet-a --json",
            "~ dep list fleet-d --direction up --json",
            "~ = dep list fleet-f",
            "~ = dep list fleet-a fleet-b",
            "~ dep list fleet-a nope --json",
            "dep tree fleet-b --json",
            "~ = dep tree fleet-a --format mermaid",
            "~ = dep tree fleet-a -d 0",
            "= dep remove fleet-a fleet-b",
            "= dep relate fleet-a fleet-f",
            "~ = dep unrelate fleet-a fleet-f",
            "~ dep cycles --json",
            'dep add --file - --json<<<{"from":"fleet-f","to":"fleet-d"}\\n',
            '~ = dep add --file -<<<{"to":"fleet-d"}\\n',
            "~ = --readonly dep add fleet-a fleet-b",
        ],
    ),
    "families": Script(
        seed=FAMILY,
        lines=[
            "~ = dep add fleet-e.1 fleet-e",
            "~ = dep add fleet-e fleet-e.1",
            "= dep add fleet-k fleet-e",
            "~ = dep add fleet-e fleet-k -t parent-child",
            "= dep add fleet-e fleet-x",
            "epic status --json",
            "close fleet-e.1 --force --json",
            "= epic close-eligible --dry-run",
            "epic close-eligible --json",
            "~ = children fleet-e",
            "children fleet-e --json",
            "~ children nope --json",
            "= label propagate fleet-e deep",
        ],
    ),
    "talk": Script(
        seed=PLAIN,
        lines=[
            "= comment fleet-a hello there",
            "comment fleet-a --json -- --force <b>",
            "~ = comment fleet-a",
            "~ = comment nope x",
            "= comment fleet-a --stdin<<<piped\\ntext",
            "~ = comments add fleet-a more -a bob",
            "comments fleet-a --json",
            "~ = comments fleet-b",
            "note fleet-a two --json",
            "= label add fleet-a fleet-b x,y",
            "~ = label add nope x",
            "~ = label add fleet-a provides:x",
            "~ = label list fleet-a",
            "~ = label list-all",
            "~ label list-all --json",
            "= label remove fleet-a x",
            "~ tag fleet-c u --json",
        ],
    ),
    "claims": Script(
        seed=[*PLAIN, _task("z", **CLOSED, assignee="alice")],
        lines=[
            "= assign fleet-a bob",
            "assign fleet-a '' --json",
            "~ = priority fleet-a 9",
            "update fleet-a --claim --json",
            "= heartbeat fleet-a",
            "~ hb fleet-a --json",
            "~ = assign fleet-a zed --actor zed",
            "~ = unclaim fleet-a --actor zed",
            "= unclaim fleet-a --reason done",
            "~ = unclaim fleet-a fleet-b nope",
            "reclaim --json",
            "~ = reclaim --older-than -5m",
            "defer fleet-b fleet-c --until 2099-01-01 --json",
            "~ = defer nope",
            "~ = defer fleet-b --until whenever",
            "= undefer fleet-b",
            "~ = undefer fleet-b",
        ],
    ),
    "rest": Script(
        seed=[*PLAIN, _task("h", labels=["human"]), _task("i", labels=["human"])],
        lines=[
            "dep add fleet-a fleet-b",
            "= delete fleet-b",
            "~ = delete fleet-a",
            "~ = delete fleet-a nope --force",
            "= delete fleet-a --force",
            "= delete fleet-b --force --json",
            "~ = stale -s closed",
            "= human respond fleet-h yes",
            "~ = human dismiss fleet-i --reason moot",
            "~ = human stats",
            "human list --status all --json",
            "= remember 'Always run the tests with -race, always on every push'",
            "remember 'b c' --key k --json",
            "~ = remember nothing",
            "~ = memories race",
            "memories --json",
            "forget k --json",
            "~ kv list --json",
            "~ = kv set memory.x 1",
            "~ BD_JSON_ENVELOPE=1 dep list fleet-c --json",
            "~ BD_JSON_ENVELOPE=1 dep add fleet-c nope --json",
        ],
    ),
}


@pytest.fixture
def make_desk(tmp_path):
    """A desk on a new embedded queue, as often as it is called."""
    opened = []

    def make():
        home = tmp_path / f"home{len(opened)}"
        home.mkdir()
        time = Clock()
        opened.append(open_embedded(home, clock=time))
        return Desk(opened[-1], time)

    yield make
    for queue in opened:
        queue.close()


@pytest.mark.parametrize("name", SCRIPTS)
def test_fleet_answers_as_bd_does(name, bd, bd_home, tmp_path):
    """Exit codes, channels, JSON and texts are the same."""
    found = differences(bd_home, bd, tmp_path, SCRIPTS[name])
    assert not found, "\n\n".join(f"$ bd {line}\n{how}" for line, how in found.items())


class TestRoundTrips:
    """What goes through the real bd comes back as it was, but for fractions of a second."""

    @pytest.fixture
    def real(self, bd, bd_home, tmp_path):
        shutil.copytree(bd_home, tmp_path / "bd")
        return RealBd(bd, tmp_path / "bd")

    def ask(self, real, *argv, stdin=""):
        said = real.ask(Line(argv, stdin=stdin))
        assert said.code == 0, said
        return said

    def test_embedded_to_bd_and_back(self, real, make_desk):
        """Ids, edges, comments, labels, notes, metadata, moments and reasons all survive."""
        one, two = make_desk(), make_desk()
        fill(one)
        sent = one.ok("export --all")
        self.ask(real, "import", "-", stdin=sent)
        back = self.ask(real, "export", "--all").out
        assert two("import -", stdin=back).code == 0
        assert [rounded(row) for row in lines(two)] == [rounded(row) for row in lines(one)]
        assert two.queue.get("fleet-rich").cwd == one.queue.get("fleet-rich").cwd == "/src/x"

    def test_bd_to_embedded_and_back(self, real, bd, bd_home, tmp_path, make_desk):
        """What bd made, gates and all, a second bd has again after fleet had it."""
        made = [
            ["create", "Rich <t> & q", "-d", "two\nlines", "--id", "fleet-a", "-p", "0",
             "-t", "bug", "-l", "b,a", "--due", "2027-01-01", "--external-ref", "gh-9", "-e", "30",
             "--metadata", '{"k": [1, null], "fleet": {"cwd": "/x"}}'],
            ["create", "B", "--id", "fleet-b", "--deps", "fleet-a"],
            ["gate", "create", "--blocks", "fleet-b", "-t", "human", "--reason", "why"],
            ["comment", "fleet-a", "said <it>"],
            ["close", "fleet-b", "--force", "-r", "done it"],
            ["remember", "a memory of it", "--key", "m"],
        ]  # fmt: skip
        for argv in made:
            self.ask(real, *argv)
        sent = self.ask(real, "export", "--all").out
        desk = make_desk()
        assert desk("import -", stdin=sent).code == 0
        shutil.copytree(bd_home, tmp_path / "second")
        second = RealBd(bd, tmp_path / "second")
        self.ask(second, "import", "-", stdin=desk.ok("export --all"))
        assert objects(self.ask(second, "export", "--all").out) == objects(sent)


def objects(text):
    return sorted((json.loads(line) for line in text.splitlines()), key=str)


def rounded(row):
    """Bd keeps whole seconds, and orders a task's edges by a hash of them."""
    text = re.sub(r"(\d\d:\d\d:\d\d)\.\d+Z", r"\1Z", json.dumps(row))
    return {
        name: sorted(value, key=str) if name in ("dependencies", "comments") else value
        for name, value in json.loads(text).items()
    }
