"""What becomes of a task when a landing ends: the record first, then the queue is told.

A task that a person or another process changed meanwhile is left as it is.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from fleet.errors import InvalidTask, NotFound, Refused
from fleet.files.safe_read import read_bounded
from fleet.home import Home, landing_json, task_json
from fleet.home.landing_json import LandedAs, LandedWork, Landing, WhyBack
from fleet.home.task_json import settings_of
from fleet.landing.waiting_work import WaitingWork
from fleet.queue.protocol import Filter, Queue
from fleet.queue.sql.travel.run_files import RunFiles
from fleet.schemas import Task, settings_metadata
from fleet.schemas.waits import OnLine, ToLand

#: How many of those that landed since a task is told of.
_MOST_AGAINST = 20
#: No record of a task that other hosts get is larger.
_LARGEST = 4 << 20


class Unlandable(Struct, frozen=True, kw_only=True):
    """Why work cannot land unchanged."""

    why: WhyBack
    words: str
    conflict: tuple[str, ...] = ()
    output: str = ""
    against: tuple[LandedWork, ...] = ()


class LandingSettler:
    """Writes the ends of landings, and says in words what was done."""

    def __init__(
        self,
        home: Home,
        queue: Queue,
        *,
        by: str,
        now: Callable[[], datetime],
        files: RunFiles | None = None,
    ) -> None:
        self._home, self._queue, self.by, self._now = home, queue, by, now
        #: What hosts that share the queue know of tasks; None: there are none.
        self._files = files
        #: A sentence for each thing that was done, in order, with the task that it is about.
        self.said: list[tuple[str, str]] = []
        #: The tasks that were closed, sent back, and left to a person.
        self.closed: list[str] = []
        self.back: list[str] = []
        self.asks: list[str] = []
        #: What could not be done, and is to be tried again; empty if nothing.
        self.problem = ""

    def test(self, work: WaitingWork) -> bool:
        """The task is in a train now; False: the task waits no longer, and is in none."""
        return self._change(work.task_id, ("waiting", "testing"), state="testing", why="")

    def wait_again(self, task_id: str, why: str = "") -> bool:
        """The task waits again: the train was left, or took another part of the batch. False: it
        came to an end in the train.
        """
        return self._change(task_id, ("testing",), state="waiting", why=why)

    def keep_waiting(self, work: WaitingWork, why: str) -> None:
        """The task goes on waiting; for what, in words."""
        self._change(work.task_id, ("waiting",), state="waiting", why=why)

    def tell(self, task_id: str, words: str) -> None:
        """Say what was done for a task."""
        self.said.append((task_id, words))

    def ask(self, work: WaitingWork, why: str) -> None:
        """Leave the landing to a person."""
        if self._change(work.task_id, ("waiting", "testing"), state="asks", why=why):
            self.note_asking(work.task_id, why)

    def ask_about_line(self, work: WaitingWork, why: str, line: str) -> None:
        """Leave a line that fails without candidates to a person. The train tells
        so, once for all.
        """
        if self._change(work.task_id, ("waiting", "testing"), state="asks", why=why, red_line=line):
            self.asks.append(work.task_id)

    def try_again(self, task_id: str, words: str) -> None:
        """What a person was asked about has changed: the task waits for the next train."""
        if self._change(task_id, ("asks",), state="waiting", why=""):
            self.tell(task_id, words)

    def share(self, task: Task, path: str) -> None:
        """Let other hosts have a file of a task as it is now, unless one of them has the task in
        hand already. Raises QueueError.
        """
        if self._files is not None:
            data = read_bounded(self._home.task(task.id) / path, _LARGEST) or b""
            self._files.put_task_file(task.id, task.fence, path, data)

    def failed(self, task_id: str, words: str) -> None:
        """A step could not be done for a task, and is to be tried again."""
        self.problem = f"{task_id}: {words}"

    def note_asking(self, task_id: str, why: str) -> None:
        """A landing waits for a person."""
        self.asks.append(task_id)
        self.tell(task_id, f"needs approval: {why}")

    def landed(self, work: WaitingWork, landed: LandedAs, behind: str = "") -> None:
        """The line holds the work: the task is closed, unless the branch is `behind`, and why."""
        if behind:
            before = ("waiting", "testing")
            if self._change(work.task_id, before, state="ahead", why=behind, landed=landed):
                self.tell_line(work.task)
                self.note_obstacle(work.task_id, behind)
            return
        # A person may merge a pull request while fleet waits for their word.
        before = ("waiting", "testing", "asks") if landed.pr else ("waiting", "testing")
        self._change(work.task_id, before, state="landed", why="", landed=landed)
        self.close(work.task)

    def as_they_are(self, tasks: Sequence[Task]) -> list[Task]:
        """These tasks as the queue has them now."""
        ids = tuple(task.id for task in tasks)
        return list(self._queue.find(Filter(ids=ids, include_closed=True)))

    def tell_line(self, task: Task) -> None:
        """Tell the queue that the line has the work of a task, so that others can begin from it."""
        landing = landing_json.believed(self._home, task.id)
        if landing is None or not task.waits_to_land or isinstance(task.waits, OnLine):
            return
        try:
            waits = OnLine(into=landing.into)
            self._queue.reopen_task(task, by=self.by, waits=waits)
        except (NotFound, Refused):
            return  # a person changed the task since

    def note_obstacle(self, task_id: str, why: str) -> None:
        """Say what keeps the branch from the work of a task."""
        self.asks.append(task_id)
        self.tell(task_id, f"to land: {why}")

    def arrived(self, task: Task) -> None:
        """The branch has the work that was ahead of it: the task is closed."""
        self._change(task.id, ("ahead",), state="landed", why="")
        landing = landing_json.believed(self._home, task.id)
        if landing is not None and task.status == "closed":
            self.tell(task.id, f"{landing.words()}; it was closed before")
        self.close(task)

    def still_ahead(self, task: Task, why: str) -> None:
        """The branch is still behind the work of a task, and why."""
        landing = landing_json.believed(self._home, task.id)
        if landing is None or landing.why == why:
            return
        if self._change(task.id, ("ahead",), state="ahead", why=why):
            self.note_obstacle(task.id, why)

    def off_line(self, task: Task) -> None:
        """Neither line nor branch has the work any more: it waits for a train again, unless a
        person closed the task.
        """
        if not self._change(task.id, ("ahead",), state="waiting", why="", landed=None):
            return
        if task.status == "closed":
            landing_json.forget_mark(self._home, task.id)
            self.tell(task.id, "its work is not on the line any more, and it was closed before")
        else:
            waits = ToLand(into=task.waits.into if isinstance(task.waits, ToLand) else "")
            self._queue.reopen_task(task, by=self.by, waits=waits)
            self.tell(task.id, "its work is not on the line any more, and is folded again")

    def close(self, task: Task) -> None:
        """Close a task whose work has landed; one that was changed since is left."""
        landing = landing_json.believed(self._home, task.id)
        if landing is None or landing.landed is None:
            return
        unchecked = "" if landing.landed.checks else ", unchecked"
        where = f"landed on {landing.into} as {landing.landed.commit[:12]}{unchecked}"
        if task.status == "closed":  # by an earlier lander, which may not have come to the rest
            self.closed.append(task.id)
        else:
            try:
                self._queue.close_task(task, by=self.by, reason=f"{landing.reason} [{where}]")
            except (NotFound, Refused) as error:
                words = f"{where}, and cannot be closed: {error.message}"
                if self._still_open(task.id):  # the mark stays: closing it is tried again
                    self.failed(task.id, words)
                    return
                self.tell(task.id, words)
            else:
                self.closed.append(task.id)
                self.tell(task.id, f"{where}; closed")
        landing_json.forget_mark(self._home, task.id)

    def send_back(
        self,
        work: WaitingWork,
        sent: Unlandable,
        *,
        counted: bool = True,
        note: Callable[[], None] | None = None,
    ) -> bool:
        """Give the task back to the agent, or to a person after `land_tries` tries. True: its agent
        goes on with it.

        What is not `counted` has limits of its own: the rounds of a pull request. What there is to
        `note` is written before the queue is told: another host may have the task then.
        """
        tries = work.landing.tries + 1
        if counted and tries > work.rules.tries:
            often = "once" if work.landing.tries == 1 else f"{work.landing.tries} times"
            why = f"{sent.words}; it was sent back {often} (land_tries)"
            facts = {"conflict": sent.conflict, "output": sent.output}
            if self._change(
                work.task_id, ("waiting", "testing"), state="asks", why=why, why_back=sent.why,
                against=sent.against[-_MOST_AGAINST:], **facts,
            ):  # fmt: skip
                self.note_asking(work.task_id, why)
            return False
        if not self._change(
            work.task_id, ("waiting", "testing"), state="back", why=sent.words, why_back=sent.why,
            tries=tries if counted else work.landing.tries, conflict=sent.conflict,
            output=sent.output, approved_by="", against=sent.against[-_MOST_AGAINST:],
        ):  # fmt: skip
            return False
        if note is not None:
            note()
        self.share(work.task, landing_json.FILE)
        self.reopen(work.task)
        return True

    def reopen(self, task: Task) -> None:
        """Open a task that was sent back, so that the agent goes on; unless the task was opened
        before, or waits for something else than its landing.
        """
        landing = landing_json.believed(self._home, task.id)
        if landing is None or not task.waits_to_land:
            return
        note = f"sent back to its agent (try {landing.tries}): {landing.why}"
        self._bind(task)
        try:
            self._queue.reopen_task(task, by=self.by, note=note)
        except (NotFound, Refused) as error:
            self.tell(task.id, f"{note}; not opened: {error.message}")
            return
        self.back.append(task.id)
        self.tell(task.id, note)

    def _bind(self, task: Task) -> None:
        """Keep a task that other hosts could run on this host, where the branch is that the agent
        is to merge.
        """
        try:
            own = settings_of(self._home, task)
        except InvalidTask:
            return
        if own.made_on is None or own.repository is None or not own.repository.lands_at_maker:
            return
        own = structs.replace(own, repository=None)
        task_json.write(self._home, task.id, own)
        self._queue.add_metadata(task.id, settings_metadata(own))

    def _change(self, task_id: str, before: tuple[str, ...], **changes: object) -> bool:
        """Change the record of a task that is in one of these states; False: the task is in
        another.
        """
        done: list[Landing] = []

        def changed(landing: Landing) -> Landing | None:
            if landing.state not in before:
                return None
            at = landing.at if landing.state == changes.get("state") else self._now()
            done.append(landing)
            return structs.replace(landing, **{"at": at, "red_line": "", **changes})

        landing_json.change(self._home, task_id, changed)
        return bool(done)

    def _still_open(self, task_id: str) -> bool:
        try:
            return self._queue.get(task_id).status == "blocked"
        except NotFound:
            return False
