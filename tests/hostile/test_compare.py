"""A comparison of which one entry is hostile, at every level of the box."""

import json
import os

import pytest

from fleet.git.clone.clone_place import clones_in
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_box import CODER, END, TOOL
from tests.story.test_hostile_text import OBEYED, printed

LEVELS = ("off", "workspace", "strict")
NEAT = 'echo two > a; git commit -qam "say two"; bd close "$FLEET_TASK_ID" --reason done'
#: Speaks to the terminal by every name and text it has, acts for the operator, and leaves programs
#: for any git that is started in its clone.
EVIL = r"""
escape=$(printf 'x\033]0;owned\007\033[2J\r\342\200\256')
echo two > a; echo two > "$escape"; ln -s / root; ln -s ../../../.. up
git add -A; git commit -qm "$escape"; git branch "$(printf 'b\342\200\256')" ; git tag v1
for words in "--pick $FLEET_TASK_ID --force" "--discard --force" "--with script:neat.sh --repeat 2"
do timeout 60 fleet compare OF $words; done
for words in "close OF" "update OF --status closed" "dep remove $FLEET_TASK_ID OF"
do bd $words; done
for each in OF.1 OF.2; do
    [ "$each" = "$FLEET_TASK_ID" ] || bd close "$each" --reason mine
    [ LEVEL = off ] || for place in HOME/tasks/OF HOME/tasks/$each HOME/clones/$each; do
        echo '{}' > "$place/compare.json"; echo evil > "$place/a"
    done
done
bd close "$FLEET_TASK_ID" --reason "$escape"
run="touch CANARY-LEVEL; cat"
for name in fsmonitor pager editor sshCommand gitProxy askPass; do
    git config "core.$name" "$run"
done
git config diff.external "$run"; git config gpg.program "$run"
for kind in clean smudge process textconv driver command; do
    for family in filter diff merge; do git config "$family.x.$kind" "$run"; done
done
echo '* filter=x diff=x merge=x' > .gitattributes
mkdir -p .git/hooks
for name in pre-commit post-commit post-checkout post-merge pre-merge-commit reference-transaction \
    post-index-change pre-push pre-receive update prepare-commit-msg; do
    printf '#!/bin/sh\n%s\n' "$run" > .git/hooks/$name; chmod +x .git/hooks/$name
done
"""


@pytest.fixture
def scene(tmp_path):
    need("git")
    if not try_box(os.environ).works:
        missing("bwrap")
    scene = Scene(tmp_path, coder="script", max_concurrent=6, retry_limit=1)
    scene.coder("script", CODER)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    yield scene
    scene.close()


def begun(scene, level):
    """A task of which a hostile and an honest coder have begun."""
    repo = Repo(scene.home.path.parent / level)
    with scene.home.config.open("a") as file:
        file.write(f'\n[projects."{repo.root}"]\nwork_in = "clone"\nsandbox = "{level}"\n')
    task = scene.add("never", cwd=repo.root, verify=("grep -q two a",), title="Say two")
    evil = EVIL
    for word, value in (("OF", task), ("LEVEL", level), ("HOME", scene.home.path),
                        ("CANARY", scene.home.path.parent / "canary")):  # fmt: skip
        evil = evil.replace(word, str(value))
    who = "export " + " ".join(f"{k}={v}" for k, v in ENV.items() if k.startswith("GIT_A"))
    who += " " + " ".join(f"{k}={v}" for k, v in ENV.items() if k.startswith("GIT_C"))
    for name, text in (("neat.sh", NEAT), ("evil.sh", evil)):
        (repo.root / name).write_text(f"{TOOL}\n{who}\n{text}\n{END}\n")
    repo.commit(a="one\n")
    wanted = ("--with", "script:neat.sh", "--with", "script:evil.sh", "--no-wait")
    done = scene.fleet("compare", task, *wanted)
    assert done.returncode == 0, done.stderr
    return repo, task


@pytest.mark.timeout(240)
def test_a_hostile_entry_reaches_neither_the_others_nor_the_person_who_picks(scene):
    """What it is called and says is text, what it asks for is refused, and nothing of it is run."""
    found = {level: begun(scene, level) for level in LEVELS}
    config = scene.home.config.read_text()
    assert scene.until_ended(scene.supervise("--until-idle"), patience=200) is not None
    for level, (repo, task) in found.items():
        for words in (("compare", task), ("compare", task, "--diff")):
            said = printed(scene, words, terminal=True)
            assert "evil.sh" in said
            assert not OBEYED.findall(said), (level, words)
        told = json.loads(scene.fleet("compare", task, "--json").stdout)["entries"]
        neat, evil = (next(e for e in told if e["model"] == f"{n}.sh") for n in ("neat", "evil"))
        assert (neat["standing"], scene.status(task)) == ("checked", "blocked"), level
        assert scene.task(neat["task_id"]).close_reason.startswith("done [run 1, checked"), level
        stderr = scene.run(evil["task_id"]).stderr.read_text()
        assert stderr.count("an agent may not run `fleet compare`") == 3, stderr
        assert repo.git("show", "main:a") == "one"
        picked = scene.fleet("compare", task, "--pick", neat["task_id"])
        assert picked.returncode == 0, picked.stderr
        assert repo.git("ls-tree", "-r", "--name-only", "main").split() == [
            "a", "evil.sh", "neat.sh",
        ]  # fmt: skip
        assert repo.git("show", "main:a") == "two"
        assert repo.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert clones_in(scene.home) == []
    assert not list(scene.home.path.parent.glob("canary*")), "a program of the entry was run"
    assert scene.home.config.read_text() == config
