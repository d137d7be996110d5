"""The record of a pull request."""

from fleet.forge import pull_request_json
from fleet.forge.pull_request_json import PullRequest
from fleet.home import Home
from tests.builders import NOW

PR = PullRequest(
    url="/srv/app.git", number=7, page="http://x/7", branch="fleet/fleet-1", base="main",
    heads=("a" * 40,), pushed_at=NOW, next_at=NOW,
)  # fmt: skip


def home_at(tmp_path):
    (tmp_path / "tasks/fleet-1").mkdir(parents=True)
    return Home(tmp_path)


def test_what_fleet_wrote_is_believed(tmp_path):
    """A later lander goes on with it."""
    home = home_at(tmp_path)
    assert pull_request_json.believed(home, "fleet-1") is None
    pull_request_json.write(home, "fleet-1", PR)
    assert pull_request_json.believed(home, "fleet-1") == PR


def test_what_an_agent_wrote_is_not(tmp_path):
    """It could lead the lander to another pull request, or call a failure done."""
    home = home_at(tmp_path)
    pull_request_json.write(home, "fleet-1", PR)
    file = home.task("fleet-1") / pull_request_json.FILE
    file.write_bytes(file.read_bytes().replace(b'"number":7', b'"number":8'))
    assert pull_request_json.read(home, "fleet-1").number == 8
    assert pull_request_json.believed(home, "fleet-1") is None


def test_one_that_is_over_is_kept_beside_the_next(tmp_path):
    """Nothing is lost of what was said."""
    home = home_at(tmp_path)
    pull_request_json.write(home, "fleet-1", PR)
    pull_request_json.set_aside(home, "fleet-1", PR)
    assert pull_request_json.believed(home, "fleet-1") is None
    assert (home.task("fleet-1") / "pull_request.json.7").exists()
