"""A project that an agent has filled with traps: looking at it runs nothing of it, and neither does
making tasks in it. A person looks from outside of every box, so no level of the box matters.
"""

import json
import os

import pytest

from tests.builders import a_program
from tests.repos import ENV, Repo
from tests.story.scene import Scene

#: What git would run for what it does, by its settings.
GIT_PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass",
    "core.alternateRefsCommand", "diff.external", "gpg.program", "credential.helper",
    "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv",
    "diff.evil.command", "merge.evil.driver", "uploadpack.packObjectsHook",
)  # fmt: skip
GIT_HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman")
#: Modules that a Python would import from its working directory.
MODULES = ("fleet/__init__.py", "fleet/__main__.py", "msgspec.py", "click.py", "sitecustomize.py")
LOOKS = (
    "", "init", "doctor", "doctor --context", "coders", "accounts", "bd create x", "bd list",
    "plan show TODO.md", "plan apply TODO.md --yes", "status", "ready", "tasks", "land",
    "config show", "usage", "queue status", "metrics", "audit", "trust --remote .",
)  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    """A home, and a project in which each trap notes that it was sprung."""
    scene = Scene(tmp_path, coder="claude")
    trap = a_program(tmp_path / "bin/trap", f'echo "$0 $*" >> {tmp_path}/sprung')
    told = f'pwd >> {tmp_path}/places; echo "$*" >> {tmp_path}/words; echo 2.1.197'
    a_program(tmp_path / "bin/claude", told)
    repo = Repo(scene.project)
    repo.commit(_dot_gitattributes="*.x filter=evil diff=evil merge=evil\n", a_dot_x="1\n")
    for module in MODULES:
        repo.put(module, f"import os; os.system({f'{trap} {module}'!r})\n")
    server = {"mcpServers": {"evil": {"command": trap, "args": ["mcp"]}}}
    hook = {"hooks": [{"type": "command", "command": trap}]}
    repo.put(".mcp.json", json.dumps(server))
    repo.put(".claude/settings.json", json.dumps({"hooks": {"SessionStart": [hook]}}))
    repo.put(".codex/config.toml", f'[mcp_servers.evil]\ncommand = "{trap}"\n')
    repo.put("Makefile", f"X := $(shell {trap} make)\ntest:\n\t{trap}\n")
    repo.put("package.json", json.dumps({"scripts": {"test": trap, "prepare": trap}}))
    repo.put("TODO.md", "- [ ] 1 One\n- [ ] 2 Two\n")
    repo.put("a.x", "changed\n")
    for name in ("git", "bd", "python3"):
        a_program(scene.project / name, trap)
    for hook in GIT_HOOKS:
        a_program(scene.project / ".git/hooks" / hook, f"{trap} {hook}")
    for name in GIT_PROGRAMS:
        repo.git("config", name, f"{trap} {name}")
    repo.git("config", "remote.origin.url", f"ext::{trap} remote")
    scene.env = {
        **scene.env, **ENV, "HOME": str(tmp_path / "user"),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    (tmp_path / "user").mkdir()
    yield scene
    scene.close()


def sprung(scene):
    notes = scene.project.parent / "sprung"
    return notes.read_text() if notes.exists() else ""


def test_looking_at_a_project_runs_nothing_of_it(scene):
    """A coder's program is asked for its version and its login alone, and not in the project."""
    for line in LOOKS:
        done = scene.fleet(*line.split())
        assert sprung(scene) == "", line
        assert "Usage:" not in done.stderr, line
    root = scene.project.parent
    asked = set((root / "words").read_text().splitlines())
    assert asked == {"--version", "auth status --json"}
    assert str(scene.project) not in (root / "places").read_text()


def test_no_module_of_a_project_is_imported_by_the_fleet_that_a_schedule_starts(scene):
    """`fleet bd create` runs in the project's directory, which agents write to."""
    words = ("add", "0 3 * * *", "--", "bd", "create", "nightly")
    for args in (words, ("run", "nightly")):
        done = scene.fleet("schedule", *args)
        assert done.returncode == 0, done.stderr
    assert sprung(scene) == ""
    assert [task.title for task in scene.open_tasks()] == ["nightly"]
