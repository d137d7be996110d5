"""What a new home does with a claim that no check proved, with real processes."""

import pytest

from fleet import config
from fleet.cli.run.run import NEEDS_YOU
from fleet.control import Control, verify_proposal
from fleet.home import landing_json
from fleet.schemas import Settings
from tests.docs.test_docs import ROOT
from tests.repos import Repo
from tests.story.scene import PATIENCE, Scene

#: The settings of a new home that decide over claims.
NEW_HOME = {"work_in": "clone", "land": "auto", "expect": "change", "require": "approved"}


@pytest.fixture
def project(tmp_path):
    """A scene and its repository, for settings that differ from those of a new home."""
    scenes = []

    def begin(**settings):
        scene = Scene(tmp_path, **{**NEW_HOME, **settings})
        scenes.append(scene)
        repo = Repo(scene.project)
        repo.commit(a="1\n")
        return scene, repo

    yield begin
    for scene in scenes:
        scene.close()


def writes_a_file(scene, **wishes):
    task_id = scene.add("tool script done end", branch="main", **wishes)
    scene.folder(task_id).mkdir(exist_ok=True)
    (scene.folder(task_id) / "script").write_text("echo new > new.txt\n")
    return task_id


def test_what_no_check_proved_lands_once_it_is_approved(project):
    """The reason that it waits has its diffstat."""
    scene, repo = project()
    task_id = writes_a_file(scene)
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    assert scene.status(task_id) == "blocked"
    landing = landing_json.read(scene.home, task_id)
    assert landing.state == "asks"
    assert "unchecked: no verify command proves it (1 file +1 -0)" in landing.why
    assert repo.git("ls-tree", "--name-only", "main").split() == ["a"]
    assert "1 file +1 -0" in scene.fleet("show", task_id).stdout
    done = scene.fleet("land", task_id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert repo.git("ls-tree", "--name-only", "main").split() == ["a", "new.txt"]
    assert scene.status(task_id) == "closed"


@pytest.mark.parametrize(
    ("settings", "wishes"),
    [
        ({"require": "any"}, {}),
        ({}, {"verify": ("test -e new.txt",)}),
        ({"require": "checked"}, {"verify": ("test -e new.txt",)}),
    ],
)
def test_work_lands_unasked_if_it_is_checked_or_need_not_be(project, settings, wishes):
    """`require` decides over unchecked work alone."""
    scene, repo = project(**settings)
    task_id = writes_a_file(scene, **wishes)
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert "new.txt" in repo.git("ls-tree", "--name-only", "main")
    assert scene.status(task_id) == "closed"


def test_a_task_without_a_check_costs_no_agent_where_one_is_required(project):
    """Each surface gives the reason and the command; the task starts once it has one."""
    scene, repo = project(require="checked")
    task_id = writes_a_file(scene)
    said = "it has no verify command, and require = checked"
    line = f"fleet bd update {task_id} --verify 'CMD'"
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    assert scene.runs(task_id) == []
    for words in (("show", task_id), ("ready",), ("tasks", "--all", "--json")):
        shown = scene.fleet(*words).stdout
        assert said in " ".join(shown.split()), words
        assert line in " ".join(shown.split()), words
    assert f"{said}: {line}" in scene.screen()
    assert said in scene.fleet("status").stdout
    assert scene.fleet("bd", "update", task_id, "--verify", "test -e new.txt").returncode == 0
    assert scene.task(task_id).not_before is None
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert "new.txt" in repo.git("ls-tree", "--name-only", "main")


def test_outside_of_git_a_claim_without_a_change_closes_its_task(tmp_path):
    """There is no tree to compare: the task works in its directory, and `fleet show` says so."""
    scene = Scene(tmp_path, **NEW_HOME)
    task_id = scene.add("tool done end")
    shown = scene.fleet("show", task_id).stdout
    assert "work_in:     directory (outside of git)\n" in shown
    assert "expect:      any (outside of git)\n" in shown
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert "unchecked" in scene.task(task_id).close_reason


def test_an_answer_closes_its_task_unchecked_in_git(project):
    """Nothing of it would land."""
    scene, _ = project()
    task_id = scene.add("tool done end", expect="answer", branch="main")
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"


def proposal_in(scene, repo, makefile, **given):
    """What `fleet bd create` proposes for a project with this Makefile."""
    repo.commit(Makefile=makefile)
    fleet = Control(scene.home, config.load(scene.home.config), {})
    settings = Settings(cwd=str(repo.root), branch="main")
    proposal = verify_proposal.verify_proposal(str(repo.root))
    return verify_proposal.tried(fleet, settings, proposal, **given)


@pytest.mark.parametrize(
    ("recipe", "passed", "said"),
    [
        ("@echo 3 passed in 1s", True, "passes on main, 3 tests"),
        ("@false", False, "fails on main: ended with 2"),
    ],
)
def test_a_proposed_command_was_tried_on_the_base(project, monkeypatch, recipe, passed, said):
    """Once a person agreed to run it; a later task reads the result."""
    monkeypatch.setattr(verify_proposal, "PATIENCE", PATIENCE)
    scene, repo = project()
    makefile = f"test:\n\t@echo x >> {scene.home.path}/ran\n\t{recipe}\n"
    unasked = proposal_in(scene, repo, makefile)
    assert (unasked.passed, unasked.said) == (None, "not tried")
    assert not (scene.home.path / "ran").exists()
    for _ in range(2):
        trial = proposal_in(scene, repo, makefile, agreed=True)
        assert (trial.passed, trial.said) == (passed, said)
    assert (scene.home.path / "ran").read_text() == "x\n"


def test_a_proposed_command_that_takes_long_is_ended(project, monkeypatch):
    """`fleet bd create` is never slow: the command counts as not tried."""
    monkeypatch.setattr(verify_proposal, "PATIENCE", 0.5)
    scene, repo = project()
    trial = proposal_in(scene, repo, "test:\n\tsleep 300\n", agreed=True)
    assert (trial.passed, trial.said) == (None, "not done within 0.5 s")


def test_create_says_what_no_check_costs_and_proposes_one(project):
    """Without a box nothing of the project runs before a person agreed."""
    scene, repo = project()
    repo.commit(Makefile="test:\n\ttouch ran\n")
    said = " ".join(scene.fleet("bd", "create", "one").stderr.split())
    assert "no verify command: finished work waits for your approval" in said
    assert "`make test` (Makefile; not tried)" in said
    assert "fleet config set --project . 'verify=make test'" in said
    scene.configure(require="checked")
    said = " ".join(scene.fleet("bd", "create", "two").stderr.split())
    assert "the task does not start without one (require = checked)" in said


def test_settings_that_exclude_each_other_are_refused_when_they_are_set(project):
    """With the setting to change; what was there stays."""
    scene, _ = project(sandbox="workspace")
    before = scene.home.config.read_text()
    place = ("--project", str(scene.project))
    for words in (
        ("config", "set", "work_in=directory"),
        ("config", "set", *place, "work_in=directory"),
        ("bd", "create", "one", "--work-in", "directory"),
    ):
        refused = scene.fleet(*words)
        assert refused.returncode != 0
        assert "work_in = directory excludes sandbox = workspace" in refused.stderr
        assert "work_in=clone" in refused.stderr
    assert scene.home.config.read_text() == before
    old = scene.fleet("bd", "create", "one", "--isolation", "none")
    assert "--isolation is now --work-in" in old.stderr


def test_a_home_of_an_earlier_fleet_says_what_was_converted(tmp_path):
    """Each surface that reads the file says so, until the next change writes it."""
    scene = Scene(tmp_path)
    text = (ROOT / "tests/data/earlier_runtime.toml").read_text()
    scene.home.config.write_text(text.replace('queue = "beads"', 'queue = "embedded"'))
    words = "isolation = none is now work_in = directory"
    assert words in scene.fleet("config", "show").stdout
    assert words in scene.fleet("doctor").stdout
    supervisor = scene.supervise("--until-idle")
    assert supervisor.wait(PATIENCE) == 0
    assert [line["text"] for line in scene.log("config_converted") if words in line["text"]]
    assert words in scene.fleet("config", "set", "max_concurrent=4").stderr
    assert "isolation" not in scene.home.config.read_text()
    assert words not in scene.fleet("config", "show").stdout
