"""What a clone of 20,000 files costs: to make it, beside a worktree of git's, and to bring its work
home.

python -m tests.bench clone
"""

import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fleet.git.clone import clone_place
from fleet.git.clone.ensure_clone import ensure_clone
from fleet.home import Home, make_home
from fleet.supervisor.cleanup import collect
from tests.bench import Figure, seconds
from tests.repos import ENV, Repo

FILES, ROUNDS = 20_000, 5
#: Seconds for a clone of so many files.
GOAL = 0.3


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        repo = _project(root / "project")
        home = Home(root / "home")
        make_home(home)
        made: list[float] = []
        linked: list[float] = []
        home_again: list[float] = []
        for number in range(ROUNDS):
            task_id, place = f"fleet-{number}", root / f"linked-{number}"
            add = ["git", "worktree", "add", "--quiet", "--detach", str(place)]
            linked.append(seconds(lambda add=add: _run(add, repo.root)))
            made.append(seconds(lambda task_id=task_id: _clone(home, task_id, repo)))
            (home.clone(task_id) / "work").write_text("done\n")
            _run(["git", "add", "-A"], home.clone(task_id))
            _run(["git", "commit", "-qm", "work"], home.clone(task_id))
            home_again.append(seconds(lambda task_id=task_id: _collect(home, task_id)))
            size = clone_place.measure(home.clone(task_id) / ".git")
            clone_place.throw_away(home, task_id)
            shutil.rmtree(place)
        clone, bare, back = map(statistics.median, (made, linked, home_again))
        detail = f"best {min(made):.2f} s; its git directory takes {size >> 10} kB"
        yield Figure(f"clone of {FILES:,} files, seconds", clone, GOAL, at_most=True, detail=detail)
        ratio = statistics.median(b / a for a, b in zip(made, linked, strict=True))
        detail = f"{clone * 1000:.0f} ms beside {bare * 1000:.0f} ms"
        yield Figure("clone beside git worktree add", ratio, 0.8, detail=detail)
        detail = f"of one commit, {back * 1000:.0f} ms"
        name = "work brought home, beside the clone"
        yield Figure(name, back / clone, 1.0, at_most=True, detail=detail)


def _project(place: Path) -> Repo:
    repo = Repo(place)
    repo.git("config", "gc.auto", "0")
    for number in range(FILES):
        path = place / f"d{number // 100}/f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line {number}\n" * 20)
    repo.commit()
    repo.git("gc", "-q")
    return repo


def _clone(home: Home, task_id: str, repo: Repo) -> None:
    ensure_clone(home, task_id, str(repo.root))


def _collect(home: Home, task_id: str) -> None:
    said = collect(home, task_id)
    assert said == [], said


def _run(argv: list[str], cwd: Path) -> None:
    subprocess.run(argv, cwd=cwd, env=ENV, check=True, capture_output=True)
