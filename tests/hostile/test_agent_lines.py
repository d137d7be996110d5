"""Agents that have fleet's own commands act for them, at every level of the box, through the real
supervisor.
"""

import os

import pytest

from fleet.coders.trusted_files import untrusted
from fleet.control.acts.audit_log import lines
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_box import CODER, END, TOOL

LEVELS = ("off", "workspace", "strict")
#: Lines that were ruled as another command than the one that ran, or that could be. V is a task of
#: another project, OWN the task of the agent.
ATTACKS = (
    "task V --run diff --run 1 restore --force",
    "task V --run log --run 1 restore --force new.txt",
    "task OWN --run diff --run 1 restore --force",
    "task V log -ff",
    "log --json -f",
    "tasks -w",
    "coders trust --all",
    "coders --json trust evil",
    "--debug coders trust --all",
    "-- coders trust --all",
    "--debug pause",
    "stop V",
    "retry V",
    "answer V yes",
    "review V --reject no",
    "review --no-pager V --approve",
    "config set permissions=bypass",
    "queue restore",
    "schedule add '0 3 * * *' -- bd create x",
    "trust V",
    "-- bd close V",
    "help bd close V",
    "bd -- close V",
    "bd --json --quiet delete V --force",
    "bd update V --claim",
)
#: Runs a command and keeps what it said and its exit code, each in a file of its own.
SAY = """
number=0
say() {
    "$@" >"$FLEET_ARTIFACT_DIR/$number" 2>&1
    echo $? >"$FLEET_ARTIFACT_DIR/$number.code"
    number=$((number+1))
}
"""
READS = (
    "status", "tasks --all", "ready", "show V", "task V receipt", "task V diff --stat --run 1",
    "task OWN events", "questions", "usage --by task", "stats", "log 5", "bd show V",
)  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    need("git")
    if not try_box(os.environ).works:
        missing("bwrap")
    scene = Scene(tmp_path, coder="script", max_concurrent=4, retry_limit=1)
    scene.coder("script", CODER)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    yield scene
    scene.close()


def victim(scene):
    """A task that has changed files of a project, which a person has edited since."""
    repo = Repo(scene.project)
    repo.commit(a="one\n")
    close = 'bd close "$FLEET_TASK_ID" --reason done'
    (repo.root / "agent.sh").write_text(
        f"{TOOL}\necho two > a; echo new > new.txt\n{close}\n{END}\n"
    )
    task = scene.add("agent.sh", coder="script", expect="any", work_in="directory", sandbox="off")
    assert scene.until_ended(scene.supervise("--until-idle")) == 0, scene.screen()
    (repo.root / "a").write_text("a person's\n")
    (repo.root / "new.txt").write_text("a person's\n")
    return task


def attacker(scene, level, task):
    """A task that gives each of these lines, and keeps what came of it."""
    place = scene.home.path.parent / level
    place.mkdir()
    text = [TOOL, SAY]
    for line in (*ATTACKS, *READS):
        words = line.replace("OWN", '"$FLEET_TASK_ID"').replace(" V", f" {task}")
        text.append(f"say timeout 60 fleet {words}")
    (place / "agent.sh").write_text("\n".join([*text, END, ""]))
    with scene.home.config.open("a") as file:
        file.write(f'\n[projects."{place}"]\nwork_in = "clone"\nsandbox = "{level}"\n')
    return scene.add("agent.sh", coder="script", cwd=place, expect="any")


@pytest.mark.timeout(240)
def test_no_line_of_an_agents_acts_for_the_operator(scene):
    """However the line is made up: it is refused, or it reads. What is refused is in the log as the
    agent's, and nothing is in the audit.
    """
    task = victim(scene)
    (scene.home.path / "coders/evil.py").write_text("raise SystemExit('loaded')\n")
    before = scene.task(task)
    agents = {level: attacker(scene, level, task) for level in LEVELS}
    config = scene.home.config.read_text()
    assert scene.until_ended(scene.supervise("--until-idle"), patience=200) is not None
    for level, agent in agents.items():
        said = scene.folder(agent) / "artifacts"
        codes = [int((said / f"{n}.code").read_text()) for n in range(len(ATTACKS) + len(READS))]
        assert dict(zip(ATTACKS, codes, strict=False)) == {
            line: code if code in (2, 7) else "refused"
            for line, code in zip(ATTACKS, codes, strict=False)
        }, level
        wrong = {
            line: (said / str(n)).read_text()
            for n, line in enumerate(READS, len(ATTACKS))
            if codes[n] != 0
        }
        assert wrong == {}, level
        refused = [line for line in scene.log("agent_refused") if agent in line["text"]]
        assert len(refused) == sum(code == 7 for code in codes), level
    assert (scene.project / "a").read_text() == "a person's\n"
    assert (scene.project / "new.txt").read_text() == "a person's\n"
    assert untrusted(scene.home.path) == ["evil"]
    assert (scene.task(task), config) == (before, scene.home.config.read_text())
    assert not (scene.home.path / "paused").exists()
    assert lines(scene.home) == []
