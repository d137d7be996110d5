"""What several accounts bring, and what a herd does to one after its reset.

python -m tests.bench accounts          the figures
python -m tests.bench.accounts          the histogram of fifty starts after a reset
"""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fleet.config import runtime_toml
from fleet.runs.outcome_history import read_ending
from tests.bench import Figure
from tests.fakes import FAKES
from tests.simulated_weeks import share_of_ideal
from tests.story.scene import Scene
from tests.vendor import Login, Vendor

HERD, STEP = 50, 5
#: Windows, and the seconds of each, that several accounts are watched for.
WINDOWS, WINDOW = 2, 60.0
#: Seconds until the reset that all of them wait for; turns a second that the vendor serves then.
RESET, RATE = 15.0, 5


def figures() -> Iterator[Figure]:
    for accounts in (1, 2, 4):
        done, share = share_of_ideal(accounts)
        detail = f"{done} tasks in four windows, on a simulated clock"
        yield Figure(f"share of what {accounts} accounts could do", share, 0.95, detail=detail)
    for accounts in (1, 2, 4):
        done, ideal = served(accounts)
        detail = f"{done} of {ideal} tasks in {WINDOWS} windows of {WINDOW:.0f} s, real processes"
        yield Figure(f"the same, {accounts} accounts for real", done / ideal, 0.95, detail=detail)
    began, burned, refused = herd()
    most = max(Counter(int(at // STEP) for at in began).values())
    yield Figure(
        f"{HERD} tasks after a reset: attempts burned", burned, 0, at_most=True,
        detail=f"{len(began)} done, {refused} requests refused after the reset",
    )  # fmt: skip
    yield Figure(
        f"{HERD} tasks after a reset: most starts in {STEP} s", most, HERD / 4, at_most=True,
        detail=f"all begun within {max(began):.0f} s",
    )  # fmt: skip


def served(accounts: int) -> tuple[int, int]:
    """Tasks that were closed within some windows, and how many the vendor would have served."""
    turns, a_window = 2, 40
    ideal = accounts * WINDOWS * a_window // turns
    names = [f"a{number}" for number in range(accounts)]
    logins = {name: Login(a_window, WINDOW) for name in names}
    with tempfile.TemporaryDirectory() as folder, Vendor(logins, turns=turns, pause=0.5) as vendor:
        settings = {"coder": "claude", "model": "sonnet", "max_concurrent": 4 * accounts}
        scene = Scene(Path(folder), **settings)
        try:
            equip(scene, Path(folder), vendor, *names)
            tasks = [scene.add("sonnet", coder="claude") for _ in range(ideal + 20)]
            scene.supervise()
            while not vendor.asked:
                time.sleep(0.1)
            time.sleep(WINDOW * WINDOWS)
            return sum(scene.status(task) == "closed" for task in tasks), ideal
        finally:
            scene.close()


def herd(tasks: int = HERD) -> tuple[list[float], int, int]:
    """When each task was first served after the reset, the attempts burned, and refusals."""
    with tempfile.TemporaryDirectory() as folder, Vendor({}, turns=2, pause=2.0) as vendor:
        scene = Scene(Path(folder), coder="claude", model="sonnet", max_concurrent=tasks)
        try:
            equip(scene, Path(folder), vendor, "one")
            reset = time.time() + RESET
            vendor.logins["one"] = Login(10_000, 3600, until=reset, rate=RATE)
            names = [scene.add("sonnet", coder="claude") for _ in range(tasks)]
            supervisor = scene.supervise("--until-idle")
            supervisor.wait(300)
            burned = sum(
                ending.counts
                for name in names
                for run in scene.runs(name)[:-1]
                if (ending := read_ending(run)) is not None
            )
        finally:
            scene.close()
    began: dict[str, float] = {}
    for at, _, task, status in vendor.asked:
        if status == 200:
            began.setdefault(task, at - reset)
    refused = sum(status != 200 and at > reset for at, _, _, status in vendor.asked)
    return sorted(began.values()), burned, refused


def equip(scene: Scene, root: Path, vendor: Vendor, *accounts: str) -> None:
    """Accounts whose claude is the light one."""
    program = root / "bin/claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{(FAKES / 'claude_client.py').read_text()}")
    program.chmod(0o755)
    path = scene.home.config
    for name in accounts:
        folder = root / "state" / name
        folder.mkdir(parents=True)
        own = {"coder": "claude", "directory": str(folder), "secret": f"env:TOKEN_{name}"}
        path.write_text(runtime_toml.changed(path.read_text(), own, path, "accounts", name))
        scene.env[f"TOKEN_{name}"] = name
    scene.env |= {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": vendor.url,
    }


def main() -> None:
    began, burned, refused = herd()
    buckets = Counter(int(at // STEP) for at in began)
    for bucket in range(max(buckets) + 1):
        print(f"{bucket * STEP:4} s  {'█' * buckets[bucket]} {buckets[bucket]}")
    print(f"{len(began)} of {HERD} begun, {burned} attempts burned, {refused} refused after it")


if __name__ == "__main__":
    main()
