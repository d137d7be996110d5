"""Specs that came with a project which is not to be trusted, through the real commands."""

import json
import os

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.control.plan.load_plan import load_spec
from fleet.control.plan.write import write_goal
from fleet.errors import BadInput
from fleet.queue.protocol import Filter
from tests.repos import Repo
from tests.story.scene import Scene

SECRET = "canary-5e91"
HEAD = 'format = "fleet.plan/1"\ntitle = "T\\u001b[2J\\u202e"\n'
TASK = '[[task]]\nkey = "{}"\ntitle = "{}"\nbody = "{}"\n{}\n'
#: What a terminal obeys: controls, and marks that turn text round.
OBEYED = {*map(chr, range(32)), "\x7f", *map(chr, range(0x80, 0xA0)), *"\u202a\u202e\u2066\u2028"}

#: Specs that no task can be made of, with what is said of each.
REFUSED = {
    "cycle.toml": (HEAD + TASK.format("a", "a", "a", 'after = ["b"]')
                   + TASK.format("b", "b", "b", 'after = ["a"]'), "wait for each other"),
    "groups.toml": (HEAD + TASK.format("a", "a", "a", 'parent = "b"')
                    + TASK.format("b", "b", "b", 'parent = "a"'), "hold each other"),
    "itself.toml": (HEAD + TASK.format("a", "a", "a", 'after = ["a"]'), "waits for itself"),
    "deep.json": ('{"task":' + "[" * 200_000, "nested too deeply"),
    "deep.toml": ("a=" + "[" * 100_000, "recursion"),
    "dots.toml": (".".join(["a"] * 50_000) + " = 1", "nested too deeply"),
    "quoted.toml": (" . ".join(['"a"'] * 50_000) + " = 1", "nested too deeply"),
    "huge.md": ("- [ ] 1 x\n" + " " * (9 << 20), "9 MB"),
    "many.toml": (HEAD + "".join(TASK.format(n, "t", "b", "") for n in range(200)), "200 tasks"),
    "long.toml": (HEAD + TASK.format("a", "x" * 501, "b", ""), "501 letters"),
    "zero.md": ("- [ ] 1 x\0", "not a text file"),
    "half.json": ('{"task":[{"key":"a","title":"\\ud800","body":"b"}]}', "surrogates"),
    "digits.json": ('{"task":[{"key":"a","title":"t","body":"b","priority":' + "9" * 6000 + "}]}",
                    "digits"),
    "coder.toml": (HEAD + TASK.format("a", "t", "b", 'coder = "../../x"\nmodel = "--y"'), "coder"),
    "scope.toml": (HEAD + TASK.format("a", "t", "b", 'pins = ["../../etc"]'), "etc"),
    "lines.toml": (HEAD + TASK.format("a", "t", "b", 'verify = ["true\\nrm x"]'), "one line"),
    "keys.toml": (HEAD + TASK.format("a b", "t", "b", ""), "one word"),
    "ids.json": (json.dumps({"tasks": [{"id": "../x", "title": "t", "dependencies": ["../x"]}]}),
                 "waits for itself"),
    "graph.json": (json.dumps({"nodes": [{"key": "a", "title": "x"}],
                               "edges": [{"from_key": "a", "to_key": "a"}]}), "waits for itself"),
}  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    Repo(scene.project).commit(readme="x\n")
    yield scene
    scene.close()


def shown(done):
    """What a command printed, as a terminal gets it; no command fails in an unforeseen way."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    assert not OBEYED & set(text.replace("\n", "").replace("\t", "")), text
    return text


@pytest.mark.timeout(60)
def test_a_spec_that_cannot_be_used_is_refused_in_bounded_time(scene):
    """However it is made up: with a sentence, and without a task."""
    fleet = Control(scene.home, Config(), scene.env)
    for name, (text, words) in REFUSED.items():
        (scene.project / name).write_text(text)
        with pytest.raises(BadInput) as refused:
            load_spec(fleet, str(scene.project / name))
        assert words in refused.value.message, name
    fleet.close()
    os.mkfifo(scene.project / "pipe.md")
    (scene.project / "zero").symlink_to("/dev/zero")
    (scene.project / "loop.md").symlink_to("loop.md")
    for name in ("pipe.md", "zero", "loop.md", "\x1b[2J", "half.json", "quoted.toml"):
        done = scene.fleet("plan", "show", "--", name)
        assert done.returncode == 2, (name, shown(done))
    assert scene.queue.find(Filter()) == []


def test_a_spec_opens_no_file_outside_of_its_project(scene, monkeypatch):
    """What it says goes to an agent, which could not read that file itself."""
    outside = scene.project.parent / "outside"
    outside.mkdir()
    for name, text in {
        "secret.md": f"- [ ] 1 {SECRET}\n\n{SECRET}\n",
        "task-1.md": f"# Task 1: {SECRET}\n\n{SECRET}\n",
        "tasks.md": f"- [ ] T001 {SECRET}\n",
    }.items():
        (outside / name).write_text(text)
    root = scene.project
    monkeypatch.chdir(root)
    sddw, kiro = root / ".sddw/f/design/tasks", root / ".kiro/specs/k"
    for folder in (sddw, kiro, root / "specs", root / ".sddw/g/design"):
        folder.mkdir(parents=True)
    (root / "leak.md").symlink_to(outside / "secret.md")
    (sddw / "task-1.md").symlink_to(outside / "sddw/task-1.md")
    (outside / "sddw").mkdir()
    (outside / "task-1.md").rename(outside / "sddw/task-1.md")
    (root / ".sddw/g/design/tasks").symlink_to(outside / "sddw")
    (root / "specs/x").symlink_to(outside)
    (kiro / "tasks.md").write_text("- [ ] 1. Do\n  - _Requirements: 1.1_\n")
    (kiro / "requirements.md").symlink_to(outside / "secret.md")
    fleet = Control(scene.home, Config(), scene.env)
    for name in ("leak.md", ".sddw/f/design/tasks", ".sddw/g/design/tasks", ".kiro/specs/k",
                 "specs/x", "specs/x/tasks.md"):  # fmt: skip
        with pytest.raises(BadInput, match="leads out of the project"):
            load_spec(fleet, str(root / name))
    with pytest.raises(BadInput, match="leads out of the project"):
        write_goal(fleet, str(root / "leak.md"))
    fleet.close()
    assert SECRET not in shown(scene.fleet("plan", "show", "leak.md"))
    assert scene.queue.find(Filter()) == []
    inside = root / "docs/spec.md"
    inside.parent.mkdir()
    inside.write_text("- [ ] 1 honest\n")
    (root / "spec.md").symlink_to(inside)
    assert scene.fleet("plan", "show", "spec.md").returncode == 0


def test_texts_of_a_spec_are_texts_and_its_commands_are_shown(scene):
    """Neither an option, nor a path, nor a word for the terminal; and no command is hidden."""
    commands = ["true \\u001b[2K\\rbelow", "a\\u202eb", "\\u001b]52;c;eA==\\u0007copied"]
    verify = ", ".join(f'"{each}"' for each in commands)
    (scene.project / "spec.toml").write_text(
        f"{HEAD}verify = [{verify}]\n"
        + TASK.format("--force", "--title \\u001b[31m", "-b \\u0007", "")
        + TASK.format("../../x", "../..\\u202e", "../../../etc/passwd", 'after = ["--force"]')
    )
    before = set(scene.home.tasks.iterdir()) if scene.home.tasks.exists() else set()
    page = shown(scene.fleet("plan", "show", "spec.toml"))
    for word in ("below", "copied", "--force", "../../x"):
        assert word in page
    asked = scene.fleet("plan", "apply", "spec.toml")
    assert asked.returncode == 7, shown(asked)
    assert scene.queue.find(Filter()) == [], "no person looked"
    done = scene.fleet("plan", "apply", "--yes", "spec.toml")
    assert done.returncode == 0, shown(done)
    shown(done)
    made = {task.title: task for task in scene.queue.find(Filter())}
    assert "--title \x1b[31m" in made
    fresh = set(scene.home.tasks.iterdir()) - before
    assert {folder.name for folder in fresh} <= {task.id for task in made.values()}
    for words in (["tasks", "--all"], ["bd", "list"], ["ready"]):
        shown(scene.fleet(*words))
