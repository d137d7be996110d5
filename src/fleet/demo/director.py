"""The show: makes the tasks, has the supervisor work on them, plays the person, and looks on."""

import shlex
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet import control
from fleet.control import Control
from fleet.control.tasks.questions import answer
from fleet.demo.progress import STARTS, Journal, Row, is_over, look
from fleet.demo.sandbox import SETTINGS, furnish
from fleet.demo.screen import Screen
from fleet.demo.script import ANSWER, KILLED_DURING, SCENES, Scene
from fleet.demo.stage import Stage
from fleet.demo.summary import Report
from fleet.schemas import RateLimited

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Seconds between two looks.
GLANCE = 0.2
#: Seconds for which a question stands on the screen before it is answered.
READING_TIME = 1.5
#: A show that lasts longer is broken. It takes a quarter of a minute.
LONGEST = 120.0


class Show:
    """One evening in one sandbox."""

    def __init__(self, place: Stage, screen: Screen) -> None:
        self._sandbox, self._child, self._hands = place.sandbox, place.child, place.hands
        self._screen = screen
        self._began = time.monotonic()
        #: The scenes by the id of their task, in the order in which they were made.
        self._cast: dict[str, Scene] = {}
        #: The scenes that come late, while they are being made.
        self._late: dict[str, Future[str]] = {}
        self._journal = Journal(self._sandbox.home)
        self._said: list[tuple[str, str]] = []
        self._asked_at: float | None = None
        self._killed = False
        self._pid = 0

    def run(self) -> Report:
        """From an empty directory to the end."""
        self._say("$ git init; fleet init --queue embedded", "bold")
        self._say(f"$ fleet config set {' '.join(SETTINGS)}", "bold")
        self._hands.submit(furnish, self._sandbox).result()
        fleet = control.opened(self._sandbox.env)
        try:
            self._make_all(fleet)
            self._say("$ fleet run", "bold")
            self._pid = self._child.start()
            rows, trouble = self._watch(fleet)
        finally:
            fleet.close()
        self._child.stop()
        self._hear()
        return Report(
            rows=tuple(rows),
            said=tuple(self._said),
            commits=self._hands.submit(self._commits).result(),
            seconds=self._seconds,
            killed=self._killed,
            trouble=trouble,
        )

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _make_all(self, fleet: Control) -> None:
        """Make the tasks, those at once that need nothing of each other."""
        scenes = [scene for scene in SCENES if not scene.late]
        while scenes:
            made = {scene.key for scene in self._cast.values()}
            ready = [scene for scene in scenes if made >= {*scene.needs}]
            for scene, task_id in zip(ready, self._hands.map(self._make, ready), strict=True):
                self._note(scene, task_id)
            scenes = [scene for scene in scenes if scene not in ready]
            self._glance(fleet)

    def _watch(self, fleet: Control) -> tuple[list[Row], str]:
        """Look on until it is over; the last sight, and what went wrong with the show itself."""
        while True:
            rows = self._glance(fleet)
            self._add_late(rows)
            self._cue(fleet, rows)
            if is_over(rows) and len(rows) == len(SCENES):
                return rows, ""
            last_words = self._child.last_words()
            if last_words is not None:
                return rows, f"the supervisor ended: {last_words}"
            if self._seconds > LONGEST:
                return rows, f"not over after {LONGEST:.0f} s"
            time.sleep(GLANCE)

    def _glance(self, fleet: Control) -> list[Row]:
        """Show how things stand."""
        rows = look(fleet, self._cast, datetime.now(UTC))
        self._screen.show(rows)
        self._hear()
        return rows

    def _add_late(self, rows: list[Row]) -> None:
        """Add what comes late, without keeping the other cues waiting."""
        limited = any(isinstance(e.outcome, RateLimited) for row in rows for e in row.endings)
        if limited or is_over(rows):
            for scene in SCENES:
                if scene.late and scene.key not in self._late:
                    self._late[scene.key] = self._hands.submit(self._make, scene)
        for scene in SCENES:
            making = self._late.get(scene.key)
            if making is not None and making.done() and scene not in self._cast.values():
                self._note(scene, making.result())

    def _cue(self, fleet: Control, rows: list[Row]) -> None:
        """What people do in this play, each when its moment has come."""
        if not self._killed and any(_is_moment_to_kill(row) for row in rows):
            self._kill()
        asking = [row for row in rows if row.state == "asking"]
        if not asking:
            self._asked_at = None
        elif self._asked_at is None:
            self._asked_at = time.monotonic()
        elif time.monotonic() > self._asked_at + READING_TIME:
            self._answer(fleet, asking[0])

    def _make(self, scene: Scene) -> str:
        """Make a task as a person does: on the command line, in the project's directory."""
        return self._sandbox.fleet(*self._order(scene), "--silent")

    def _order(self, scene: Scene) -> list[str]:
        ids = {made.key: task_id for task_id, made in self._cast.items()}
        words = ["bd", "create", scene.title, "-p", str(scene.priority)]
        words += ["--coder", scene.coder, "--model", scene.manner]
        return words + (
            ["--deps", ",".join(ids[key] for key in scene.needs)] if scene.needs else []
        )

    def _note(self, scene: Scene, task_id: str) -> None:
        self._cast[task_id] = scene
        self._say(f"$ fleet {shlex.join(self._order(scene))}  → {task_id}", "bold")

    def _kill(self) -> None:
        self._killed = True
        self._child.kill()
        self._say(f"$ kill -9 {self._pid}  (the supervisor); fleet run", "bold red")
        self._pid = self._child.start()

    def _answer(self, fleet: Control, row: Row) -> None:
        answer(fleet, fleet.get(row.task.id), ANSWER, at=datetime.now().astimezone())
        self._say(f"$ fleet answer {row.task.id} {shlex.quote(ANSWER)}", "bold magenta")

    def _hear(self) -> None:
        """Pass on what the supervisor said."""
        for action, text in self._journal.news():
            self._said.append((action, text))
            scene = self._cast.get(text.partition(":")[0])
            short = text.removesuffix(f" in {self._sandbox.project}")
            self._say(short, title=scene.title if scene else "")

    def _say(self, text: str, style: str = "", title: str = "") -> None:
        self._screen.say(text, self._seconds, style=style, title=title)

    def _commits(self) -> tuple[str, ...]:
        if not any((self._sandbox.project / ".git" / "refs" / "heads").iterdir()):
            return ()
        return tuple(self._sandbox.git("log", "--reverse", "--format=%h %s").splitlines())


def _is_moment_to_kill(row: Row) -> bool:
    """The agent is in mid-work, and has enough to do to outlive a supervisor."""
    at_work = row.state == "running" and row.what != STARTS
    return row.scene.key == KILLED_DURING and at_work and not row.endings
