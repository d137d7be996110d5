"""JSON lines travel between fleet and the real bd without loss."""

import json
import re
import shutil

import pytest

from fleet.queue.sql.sqlite import open_embedded
from tests.conftest import only_slow
from tests.contract.bd_answers import Bd, Clock
from tests.contract.test_bd_transfer import fill, lines
from tests.real.bd_parity import Line, RealBd


@pytest.fixture
def make_own(tmp_path):
    """Bd commands on a new embedded queue, as often as it is called."""
    opened = []

    def make():
        home = tmp_path / f"home{len(opened)}"
        home.mkdir()
        time = Clock()
        opened.append(open_embedded(home, clock=time))
        return Bd(opened[-1], time)

    yield make
    for queue in opened:
        queue.close()


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

    def test_embedded_to_bd_and_back(self, real, make_own):
        """Ids, edges, comments, labels, notes, metadata, moments and reasons all survive."""
        one, two = make_own(), make_own()
        fill(one)
        sent = one.ok("export --all")
        self.ask(real, "import", "-", stdin=sent)
        back = self.ask(real, "export", "--all").out
        assert two("import -", stdin=back).code == 0
        assert [rounded(row) for row in lines(two)] == [rounded(row) for row in lines(one)]
        assert two.queue.get("fleet-rich").cwd == one.queue.get("fleet-rich").cwd == "/src/x"

    @only_slow
    def test_bd_to_embedded_and_back(self, real, bd, bd_home, tmp_path, make_own):
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
        own = make_own()
        assert own("import -", stdin=sent).code == 0
        shutil.copytree(bd_home, tmp_path / "second")
        second = RealBd(bd, tmp_path / "second")
        self.ask(second, "import", "-", stdin=own.ok("export --all"))
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
