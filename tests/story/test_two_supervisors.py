"""Two supervisors of two homes on one repository, which land on one branch: in `make slow`.

In every run tests/unit/landing/test_land_target.py has two landers of two homes on one repository.
"""

import subprocess
import tempfile
from collections import Counter

from fleet.git.commit_words import TRAILER
from tests.conftest import need, only_slow
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_landing import VERIFY, add

TASKS = 6


@only_slow
def test_two_supervisors_land_on_one_branch(tmp_path):
    """All work is on the branch, each once; every value of the branch passes a fresh check."""
    need("git")
    project = Repo(tmp_path / "project")
    project.commit(README="read me\n", **{"part-0": "zero\n"})
    scenes = []
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, max_concurrent=3, retry_limit=1, land="auto")
        scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
        scene.project = project.root
        scenes.append(scene)
    try:
        tasks = [
            (scene, add(scene, f"echo {name}{n} > part-{name}{n}; git add -A; git commit -qm x"))
            for n in range(TASKS)
            for name, scene in zip("ab", scenes, strict=True)
        ]
        running = [scene.supervise("--until-idle") for scene in scenes]
        for supervisor, scene in zip(running, scenes, strict=True):
            assert supervisor.wait(300) == 0, scene.screen()
        assert [scene.status(task) for scene, task in tasks] == ["closed"] * len(tasks)
    finally:
        for scene in scenes:
            scene.close()
    ask = ("log", "--first-parent", f"--format=%(trailers:key={TRAILER},valueonly)", "main")
    landed = Counter(project.git(*ask).split())
    assert len(project.git("ls-tree", "--name-only", "main").split()) == 2 + len(tasks)
    assert sum(landed.values()) == len(tasks)
    for value in project.git("reflog", "show", "--format=%H", "main").split():
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            unpack = f"git archive {value} | tar -x -C {folder}"
            subprocess.run(["sh", "-c", unpack], cwd=project.root, env=ENV, check=True)
            assert subprocess.run(["sh", "-c", VERIFY], cwd=folder, check=False).returncode == 0
