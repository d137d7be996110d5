"""What it costs the supervisor that people are told and operators watch: two supervisors side by
side with the same agents, one of them with notifier, exporter, audit and a page that Prometheus
reads.

python -m tests.bench reach
"""

import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import psutil

from fleet.control.page.page_address import last_address
from fleet.control.page.session_store import AT_ONCE, SessionStore
from tests.bench import Figure
from tests.bench.supervisor import Bench
from tests.otlp_receiver import OtlpReceiver

#: Agents that are alive all the while; rounds, and seconds of one.
ALIVE, ROUNDS, SECONDS = 20, 3, 20.0
#: Seconds between two short tasks with an act of a person's, and between two visits of Prometheus.
EVERY, SCRAPED = 2.0, 10.0
#: Per cent of a core.
GOAL = 0.1


class Reached(Bench):
    """A home with everything on."""

    def __init__(self, root: Path, receiver: OtlpReceiver) -> None:
        super().__init__(root, max_concurrent=ALIVE + 10)
        text = self.home.config.read_text()
        self.home.config.write_text(
            f'{text}\n[notify]\ncommand = ["/bin/true"]\non = ["question", "closed", "idle"]\n'
            f'\n[otel]\nendpoint = "{receiver.url}"\n'
        )
        argv = (sys.executable, "-m", "fleet", "web", "--no-open")
        with (self.home.path / "page").open("wb") as out:
            page = subprocess.Popen(argv, env=self.env, stdout=out, stderr=out)
        self.supervisors.append(page)
        self.until(lambda: last_address(self.home))
        store = SessionStore(self.home, lambda: datetime.now(UTC))
        found = store.exchange(store.new_code("view", AT_ONCE), "Prometheus")
        assert found is not None
        headers = {"Authorization": f"Bearer {found[0]}"}
        self._figures = urllib.request.Request(
            f"{last_address(self.home)}/metrics", headers=headers
        )

    def scrape(self) -> None:
        """What Prometheus does."""
        with urllib.request.urlopen(self._figures, timeout=60) as answer:
            assert b"fleet_supervisor_up 1.0" in answer.read()


def used(process: psutil.Process) -> float:
    """Seconds of CPU that a process itself took so far."""
    times = process.cpu_times()
    return times.user + times.system


def round_of(scenes: list[Bench], supervisors: list[psutil.Process], *, work: bool) -> float:
    """One round of both: by how many per cent of a core the second one took more."""
    before = [used(each) for each in supervisors]
    began = time.monotonic()
    scraped = 0.0
    while (now := time.monotonic()) < began + SECONDS:
        if now - scraped > SCRAPED:
            scraped = now
            for scene in scenes:
                if isinstance(scene, Reached):
                    scene.scrape()
        for scene in scenes if work else ():
            scene.fill(1, "noop")
        time.sleep(EVERY)
    plain, whole = (
        100 * (used(each) - start) / (time.monotonic() - began)
        for each, start in zip(supervisors, before, strict=True)
    )
    return whole - plain


def figures() -> Generator[Figure]:
    with ExitStack() as stack:
        receiver = OtlpReceiver()
        stack.callback(receiver.close)
        scenes: list[Bench] = []
        for number in range(2):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fleet-bench-"))
            scene = (
                Reached(Path(folder), receiver)
                if number
                else Bench(Path(folder), max_concurrent=ALIVE + 10)
            )
            scenes.append(scene)
            stack.callback(scene.close)
        supervisors = [scene.idle_supervisor() for scene in scenes]
        for scene in scenes:
            scene.fill(ALIVE, "sleep")
            scene.until_started(ALIVE)
        for name, work in (("idle", False), ("at work", True)):
            more = [round_of(scenes, supervisors, work=work) for _ in range(ROUNDS)]
            shown = ", ".join(f"{each:+.3f}" for each in more)
            yield Figure(
                f"everything on, {name}: % of a core more", statistics.median(more), GOAL,
                at_most=True,
                detail=f"{shown}; {ALIVE} agents alive{', a task in 2 s' if work else ''}",
            )  # fmt: skip
        yield exported(scenes[1], receiver)


def exported(scene: Bench, receiver: OtlpReceiver) -> Figure:
    """How soon the spans of a run are at the receiver; the exporter looks every two seconds."""
    took: list[float] = []
    for _ in range(10):
        known, closed = len(receiver.named("task")), scene.count("closed")
        scene.fill(1, "noop")
        scene.until_count("closed", closed + 1)
        began = time.monotonic()
        receiver.until(lambda known=known: len(receiver.named("task")) > known, 60)
        took.append(time.monotonic() - began)
    detail = f"median {statistics.median(took):.1f} s; the exporter looks every 2 s"
    return Figure(
        "run over → span received, slowest (s)", max(took), 5, at_most=True, detail=detail
    )
