"""What landing costs: verify runs beside one by one, and the time from a candidate to the branch
beside the verify command itself.

python -m tests.bench landing
"""

import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fleet.home import landing_json
from tests.bench import Figure, seconds
from tests.chaos.landing import LandingOrdeal
from tests.landings import LandHome

#: Candidates of one measurement, and the largest share of verify runs by the share that fails.
CANDIDATES = 60
SHARES = {0.02: 0.4, 0.10: 0.65, 0.25: 1.0}
SINGLE, MANY, ROUNDS = 20, 20_000, 12
#: Seconds beside the verify command.
GOAL = 1.0
#: Tasks of which a tenth conflicts, and how often one of them may be sent back.
TASKS, MOST_TRIES = 30, 2


def figures() -> Iterator[Figure]:
    for share, goal in SHARES.items():
        yield _verify_runs(share, goal)
    yield from _latency("candidate to landed, beside verify, p99 s", 0, SINGLE)
    yield from _latency(f"the same with {MANY:,} files", MANY, ROUNDS)
    yield _rounds()


@contextmanager
def _home(files: int = 0) -> Iterator[LandHome]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        place = LandHome(Path(folder))
        place.repo.git("config", "gc.auto", "0")
        place.repo.put("part-0", "zero\n")
        for number in range(files):
            path = place.repo.root / f"d{number // 100}/f{number}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"line {number}\n" * 20)
        place.repo.commit("first")
        place.repo.git("gc", "-q")
        try:
            yield place
        finally:
            place.queue.close()


def _verify_runs(share: float, goal: float) -> Figure:
    """Verify runs for each candidate; one by one there is one for each."""
    with _home() as place:
        bad = set(random.Random(1).sample(range(CANDIDATES), max(1, round(CANDIDATES * share))))
        for number in range(CANDIDATES):
            text = f"bad {number}\n" if number in bad else f"{number}\n"
            place.accepted(f"task {number}", files={f"part-x{number}": text})
        took = seconds(lambda: place.land(trains=CANDIDATES))
        back = sum(place.state(task) == "back" for task in landing_json.unlanded(place.home))
        assert back == len(bad), f"{back} of {len(bad)} went back"
        runs = place.runs() / CANDIDATES
    detail = f"{CANDIDATES} candidates, {len(bad)} fail; {took:.1f} s in all"
    return Figure(
        f"verify runs beside serial, {share:.0%} fail", runs, goal, at_most=True, detail=detail
    )


def _latency(name: str, files: int, rounds: int) -> Iterator[Figure]:
    """Each candidate waits alone, and something landed since its clone was made. The first one
    finds no spare checkout, and is told apart.
    """
    with _home(files) as place:
        times: list[float] = []
        for number in range(rounds):
            task = place.accepted(f"task {number}", files={f"part-x{number}": f"{number}\n"})
            place.repo.commit("a person's", **{f"other{number}": "theirs\n"})
            bare = seconds(partial(_run_verify, place))
            times.append(seconds(place.land) - bare)
            assert place.state(task) == "landed", place.landing(task)
    first, *rest = times
    rest.sort()
    p50, p99 = rest[len(rest) // 2], rest[-1]
    detail = f"p50 {p50:.2f} s, best {rest[0]:.2f} s, of {rounds - 1}; before them {first:.2f} s"
    yield Figure(name, p99, GOAL, at_most=True, detail=f"{detail}, from nothing")


def _run_verify(place: LandHome) -> None:
    subprocess.run(["sh", "-c", place.verify], cwd=place.repo.root, check=True)


def _rounds() -> Figure:
    """The most often that a conflicting task was sent back before it landed."""
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        ordeal = LandingOrdeal(Path(folder), tasks=TASKS, slots=4, seed=1, most=0)
        report = ordeal.run(300.0)
        assert report.clean, report
        kept = [landing_json.read(ordeal.scene.home, task) for task in ordeal.tasks]
        tries = [landing.tries for landing in kept if landing is not None]
    detail = f"{sum(map(bool, tries))} of {TASKS} tasks went back; all landed, {report.seconds} s"
    name = "rounds until a conflicting task has landed"
    return Figure(name, max(tries), MOST_TRIES, at_most=True, detail=detail)
