"""What `fleet doctor` says of landing."""

from msgspec import structs

from fleet.config import Config, Project
from fleet.doctor.check_project import landing
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from tests.builders import NOW, a_program
from tests.conftest import need
from tests.repos import Repo
from tests.unit.doctor.conftest import with_env


def told(installation, **settings):
    known = structs.replace(installation, config=Config(**settings))
    return [(each.severity, each.what) for each in landing(known)]


def test_where_nothing_lands_git_is_not_asked(installation):
    """An old git is no fault of a home that does not need another."""
    for settings in ({"land": "branch"}, {"work_in": "directory"}):
        (found,) = told(installation, **settings)
        words = "work stays in its directory, or on fleet/<id> (work_in, land)"
        assert found == ("ok", words)


def test_landing_says_what_it_does(installation):
    """And that nothing is pushed, unless it is."""
    need("git")
    assert told(installation, land="auto") == [
        ("ok", "auto: accepted work lands on its task's branch, here alone; nothing is pushed")
    ]
    (found,) = told(installation, land="auto", land_to="push")
    assert "accepted work is pushed too" in found[1]
    assert "nothing is pushed" not in found[1]


def test_what_differs_in_the_project_here_is_said(installation, tmp_path, monkeypatch):
    """However its directory is spelled in runtime.toml."""
    need("git")
    monkeypatch.chdir(tmp_path)
    path = f"{tmp_path}/x/.."
    here = {path: Project(path=path, settings={"land": "ask"})}
    _, (severity, what) = told(installation, land="auto", projects=here)
    assert (severity, what.startswith(f"here, {path}: ask")) == ("ok", True)


def test_a_git_that_is_too_old_is_an_error(installation, tmp_path):
    """Before a run is wasted on work that cannot land."""
    a_program(tmp_path / "bin" / "git", "echo git version 2.34.1")
    old = with_env(installation, PATH=str(tmp_path / "bin"))
    ((severity, what),) = told(old, land="ask")
    assert (severity, what) == (
        "error", "landing needs git 2.38 or later, and here is git version 2.34.1",
    )  # fmt: skip


def test_a_branch_that_is_not_there_is_named(installation, tmp_path):
    """That of a project, and that of work which waits for it."""
    need("git")
    repo = Repo(tmp_path / "project")
    repo.commit(a="1\n")
    place = str(repo.root)
    own = Project(path=place, settings={"land": "auto", "land_into": "trunk"})
    found = told(installation, projects={place: own})
    assert ("error", f"{place} has no branch trunk") in found
    waits = Landing(
        state="waiting", repository=place, into="gone", run=1, base="", tree="", at=NOW
    )  # fmt: skip
    installation.home.task("fleet-1").mkdir(parents=True)
    landing_json.write(installation.home, "fleet-1", waits)
    found = told(installation, land="auto")
    assert ("warning", f"fleet-1 wait for the branch gone, which {place} has not") in found
