"""Clones that an agent turned into traps for the git that reads them, at every level of the box:
names that no tree may hold, other stores, links, pipes and devices in the place of git's files.
"""

import pytest

from fleet.home import landing_json
from tests.hostile.test_forged_objects import scene  # noqa: F401
from tests.story.test_box import END, TOOL

#: Writes an object that git itself refuses to make, and prints its name.
PUT = r"""
import hashlib, pathlib, subprocess, sys, zlib
kind, text = sys.argv[1], sys.argv[2]
if kind == "tree":  # MODE PATH NAME of a first entry, before those of the last commit
    mode, path, name = text.split()
    data = f"{mode} {path}\0".encode() + bytes.fromhex(name)
    if len(sys.argv) > 3:
        data += subprocess.run(["git", "cat-file", "tree", "HEAD"], capture_output=True).stdout
stored = kind.encode() + b" %d\0" % len(data) + data
name = hashlib.sha1(stored).hexdigest()
place = pathlib.Path(".git/objects", name[:2])
place.mkdir(exist_ok=True)
(place / name[2:]).write_bytes(zlib.compress(stored))
print(name)
"""
#: Commits a tree in which the directory that $1 names holds a hook.
NAMED = """
hook=$(printf '#!/bin/sh\\ntouch CANARY\\n' | git hash-object -w --stdin)
inner=$(python3 put.py tree "100755 post-checkout $hook")
inner=$(python3 put.py tree "40000 hooks $inner")
root=$(python3 put.py tree "40000 NAME $inner" over)
git update-ref "$(git symbolic-ref HEAD)" $(git commit-tree -p HEAD -m evil $root)
"""
WORK = "echo 'b = 1' > src/b.py; git add -A; git commit -qm work"
#: What each agent does after its honest commit, and whether that may land all the same.
CASES = {
    "hooks in the tree": (NAMED.replace("NAME", ".git"), False),
    "the same on other file systems": (NAMED.replace("NAME", "GIT~1"), False),
    "the directory above": (NAMED.replace("NAME", ".."), False),
    "a submodule that is an option": (
        ("printf '[submodule \"x\"]\\n path = -u./x\\n url = ext::touch CANARY\\n' > .gitmodules;"
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x; git add .gitmodules;"
        "git commit -qm module"),
        False,
    ),
    "a store of its own": (
        ("place=$FLEET_ARTIFACT_DIR/o; mkdir -p $place; mv .git/objects/?? $place;"
        "echo $place >> .git/objects/info/alternates; git cat-file -e HEAD && echo there >&2"),
        False,
    ),
    "a git directory elsewhere": (
        "mv .git $FLEET_ARTIFACT_DIR/x; ln -s $FLEET_ARTIFACT_DIR/x .git", False,
    ),
    "pipes for objects": (
        ("head=$(git rev-parse HEAD); rest=${head#??}; file=.git/objects/${head%$rest}/$rest;"
        "rm -f $file; for it in $file .git/objects/pack/pack-$head.pack; do mkfifo $it; done"),
        False,
    ),
    "a pipe for its HEAD": ("rm .git/HEAD; mkfifo .git/HEAD", False),
    "devices and links for what git knows by itself": (
        ("rm -f .git/index .git/packed-refs; ln -s /etc/passwd .git/index;"
        "ln -s /dev/zero .git/packed-refs; rm -rf .git/logs; ln -s / .git/logs"),
        True,
    ),
    "other objects in the place of some": (
        ("git replace HEAD HEAD~; git replace HEAD:src/b.py HEAD:src/a.py;"
        "git rev-parse HEAD > .git/info/grafts; git rev-parse HEAD > .git/shallow"),
        True,
    ),
}  # fmt: skip

#: A user whom git knows no name of could not commit.
WHO = "export " + " ".join(
    f"GIT_{who}_NAME=a GIT_{who}_EMAIL=a@b" for who in ("AUTHOR", "COMMITTER")
)


@pytest.mark.timeout(180)
def test_no_clone_leads_git_astray(scene, tmp_path):  # noqa: F811
    """What cannot be taken over whole does not land, the rest lands as committed, nothing of it is
    run, and the supervisor neither waits nor ends.
    """
    repo, canary = scene.repo, tmp_path / "canary"
    files = {"src/a.py": "a = 1\n", "test.sh": "exit 0\n", "put.py": PUT}
    for number, (script, _) in enumerate(CASES.values()):
        own = WORK.replace("src/b.py", f"src/b{number}.py")
        trap = script.replace("CANARY", str(canary)).replace("b.py", f"b{number}.py")
        lines = (WHO, TOOL, own, trap)
        done = "bd close $FLEET_TASK_ID --reason done >&2"
        files[f"agent{number}.sh"] = "\n".join((*lines, done, END))
    for path, text in files.items():
        repo.put(path, text)
    repo.commit()
    scene.configure(max_concurrent=4)
    ids = [
        scene.add(f"agent{number}.sh", coder="script", branch="main", verify=("sh test.sh",))
        for number, _ in enumerate(CASES)
    ]
    scene.until_ended(scene.supervise("--until-idle"), 150)
    landed = {
        case
        for case, task in zip(CASES, ids, strict=True)
        if (landing := landing_json.believed(scene.home, task)) and landing.state == "landed"
    }
    assert landed == {case for case, (_, may) in CASES.items() if may}, scene.screen()
    wanted = {*files, *(f"src/b{n}.py" for n, (_, may) in enumerate(CASES.values()) if may)}
    assert {*repo.git("ls-tree", "-r", "--name-only", "main").split("\n")} == wanted
    assert {repo.git("show", f"main:{name}") for name in wanted - files.keys()} == {"b = 1"}
    assert not canary.exists()
    assert repo.git("fsck", "--strict").strip() == ""
