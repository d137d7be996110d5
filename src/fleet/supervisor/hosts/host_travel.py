"""Brings what other hosts know of a task before the run begins, and sends what a run left before
the task is settled.

Beside the loop, on a connection of its own: neither a slow line nor a large file keeps leases from
being renewed.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import msgspec
from msgspec import Struct, structs

from fleet.config import Config
from fleet.errors import FleetError
from fleet.git.mirror.result_refs import ResultPushed
from fleet.home import Home, landing_json, messages
from fleet.home.journal import Log
from fleet.home.landing_json import Landing
from fleet.home.messages import Message
from fleet.home.task_json import is_elsewhere, settings_of
from fleet.queue.protocol import LeaseLost, Queue
from fleet.queue.sql.travel.run_files import OF_TASK
from fleet.runs.run_directory import Run
from fleet.schemas import (
    BLOCKING,
    Closed,
    Lease,
    Request,
    Settings,
    Task,
    bears_out,
    settings_metadata,
)
from fleet.schemas.backoff import Backoff
from fleet.schemas.decision import Decision, blocked
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.waits import ToMend
from fleet.supervisor.hosts.live_sender import LiveSender
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.worker_pool import WorkerPool
from fleet.travel import in_step
from fleet.travel.pack_run import (
    files_of_run,
    files_of_task,
    note_sent,
    words_of_people,
    words_stamp,
)
from fleet.travel.send_later import send_later
from fleet.travel.send_work import Unsent, send_work
from fleet.travel.shared_queue import SharedQueue
from fleet.travel.unpack_run import take_sent_back, unpack_runs

#: Seconds until a sending that failed is tried again.
_BACKOFF = Backoff(1.0, 60.0)


class Arrived(Struct, frozen=True, kw_only=True):
    """What other hosts know of a task is here; or why the task cannot run here."""

    #: Another host has to run it; empty: this one may.
    bound: str = ""
    #: The queue or the disk failed; empty: all went well.
    trouble: str = ""


class HostTravel:
    """What of tasks goes from host to host. Its verbs block, so they are not for the loop."""

    def __init__(
        self,
        home: Home,
        config: Config,
        open_queue: Callable[[], Queue],
        living: Callable[[], list[Run]],
        log: Log,
        *,
        me: str,
    ) -> None:
        self._home, self._config, self._open, self._log = home, config, open_queue, log
        #: The id of this host.
        self.me = me
        #: Tasks of which other hosts do not know the last yet, and that are being told of.
        self._untold: set[str] = set()
        self._telling: set[str] = set()
        #: What was kept last of people's words on each task: the lease's fence, and stamps.
        self._kept: dict[str, tuple[int, ...]] = {}
        #: Sends lines to people who watch a run from another host.
        self.live = LiveSender(config, open_queue, living)

    def say(self, task_id: str, text: str) -> None:
        """Log what the threads that send and bring files have to say of a task."""
        self._log.say("travel", f"{task_id}: {text}", task_dir=self._home.task(task_id))

    def note_later(self, task_id: str) -> None:
        """A task was settled, or its work went on to its branch: other hosts are to know."""
        self._untold.add(task_id)

    def tell_later(self, pool: WorkerPool, name: str) -> None:
        """Send what was noted, together and one sending at a time. In the loop's thread."""
        if self._untold and not self._telling:
            self._telling, self._untold = self._untold, set()
            pool.submit(partial(self._send_later, tuple(self._telling), name), self._sent_later)

    def tell_rest(self, name: str) -> None:
        """Send what other hosts do not know yet, before this supervisor ends; one try."""
        rest = self._untold | self._telling
        if rest:
            self._send_later(tuple(rest), name)

    def _sent_later(self, failed: tuple[str, ...]) -> None:
        self._telling = set()
        self._untold.update(failed)

    def _send_later(self, task_ids: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Returns the tasks that could not be sent, if the queue may answer later."""
        try:
            with self._shared() as shared:
                for task_id in task_ids:
                    send_later(shared, self._home, task_id, me=self.me, name=name)
        except (FleetError, OSError):
            return task_ids  # the same again changes nothing that was done
        return ()

    def arrive(self, lease: Lease) -> Arrived:
        """Bring the files of the task's runs on other hosts, and messages that wait for it."""
        task = lease.task
        try:
            with self._shared() as shared:
                if why := self._bound(shared, task):
                    return Arrived(bound=why)
                taken = unpack_runs(shared, self._home, task.id, me=self.me)
                take_sent_back(shared, self._home, task)
                self._take_messages(shared, lease)
        except (FleetError, OSError) as error:
            return Arrived(trouble=str(error))
        if taken:
            runs = ", ".join(map(str, taken))
            self.say(task.id, f"goes on after run {runs}, which another host made")
        return Arrived()

    def keep_words(self, lease: Lease, thread: QueueThread) -> None:
        """Have the queue know what people told and answered a task's agent by now: should this host
        be lost, the next one goes on with that. In the loop's thread.
        """
        folder = self._home.task(lease.task.id)
        stamp = (lease.fence, *words_stamp(folder))
        if self._kept.get(lease.task.id, (lease.fence, 0, 0)) == stamp:
            return
        self._kept[lease.task.id] = stamp

        def keep(queue: Queue) -> LeaseLost | None:
            files = SharedQueue(queue, self._config).files
            return files.put_task_files(lease, words_of_people(folder))

        thread.call(keep, lambda _: None)

    def send(
        self,
        lease: Lease,
        run: Run,
        decision: Decision,
        evidence: Callable[[], Decision | None],
        abandon: threading.Event,
    ) -> Decision | None:
        """Write the evidence, push the work, store the files; the decision that the queue is told.

        Tried again until it goes well; None: it was abandoned, for the next supervisor to do.
        """
        pause, said = _BACKOFF.first, ""
        while True:
            try:
                return self._send(lease, run, evidence() or decision)
            except (FleetError, OSError) as error:
                if str(error) != said:
                    said = str(error)
                    self.say(lease.task.id, f"not settled yet: {said}; tried again")
            if abandon.wait(pause):
                return None
            pause = _BACKOFF.after(pause)

    def _send(self, lease: Lease, run: Run, decision: Decision) -> Decision:
        """Raises FleetError and OSError: the same again changes nothing that was done."""
        home, task_id = self._home, lease.task.id
        settings = settings_of(home, lease.task)
        if settings.repository is not None:
            decision = self._send_work(lease.task, run, decision, settings, settings.repository)
        with self._shared() as shared:
            sent = shared.files.send(lease, run.number, files_of_run(run), host=self.me)
            if isinstance(sent, LeaseLost):
                return decision  # the queue says so again when the task is settled
            _send_task_files(shared, home, lease)
            shared.live.forget(task_id)
        note_sent(run.task_dir)
        return decision

    def _send_work(
        self, task: Task, run: Run, decision: Decision, settings: Settings, origin: CodeOrigin
    ) -> Decision:
        """Push what the run left; without that there is no verdict on a task of another host."""
        home, elsewhere = self._home, is_elsewhere(self._home, settings)
        landing = _landing_of(home, task.id, run)
        answer = send_work(home, task.id, run.number, origin.url, title=task.title, landing=landing)
        why = answer.why if isinstance(answer, Unsent) else ""
        if why and not elsewhere:  # the work is in the project here
            self.say(task.id, f"{why}; other hosts begin without it")
        elif isinstance(answer, Unsent) and answer.is_silent:
            raise FleetError(why)
        elif why and bears_out(decision.settlement):
            landing_json.forget_mark(home, task.id)
            return structs.replace(blocked(ToMend(what=why), task.id), counts=decision.counts)
        if elsewhere and landing is not None and origin.lands_at_maker and settings.made_on:
            _leave_landing(home, task.id, settings.made_on)
        if elsewhere and isinstance(answer, ResultPushed):
            return _naming(decision, answer, origin.url)
        return decision

    def _bound(self, shared: SharedQueue, task: Task) -> str:
        """Why the task has to run on the host that made it; the queue knows by then.

        What it depends on landed on a branch that only that host has.
        """
        settings = settings_of(self._home, task)
        origin = settings.repository
        if origin is None or not origin.lands_at_maker or not settings.made_on:
            return ""
        if not is_elsewhere(self._home, settings):
            return ""
        from fleet.queue.sql.dependencies import neighbours

        found = neighbours(shared.queue, task.id, "down")
        if not any(edge in BLOCKING for _, edge in found):
            return ""
        own = structs.replace(settings, repository=None)
        shared.queue.add_metadata(task.id, settings_metadata(own))
        return (
            "it builds on work that landed on a branch of the host that made it, and runs there"
            " (land_to = push lets it run anywhere)"
        )

    def _take_messages(self, shared: SharedQueue, lease: Lease) -> None:
        """Messages of people on other hosts wait in the queue until a host has the task in hand.
        A message stays in the queue after that too: this host may be lost.
        """
        task_id = lease.task.id
        all_ = [each for each in shared.queue.requests() if each.task_id == task_id]
        messages = [request for request in all_ if is_message(request)]
        for request in messages:
            hand_on(self._home, request)
        kept = words_of_people(self._home.task(task_id)) if messages else ()
        if shared.files.put_task_files(lease, kept) is not None:
            return  # the lease is lost: the next host takes them
        for request in messages:
            shared.queue.answered(request)

    @contextmanager
    def _shared(self) -> Generator[SharedQueue]:
        queue = self._open()
        try:
            yield SharedQueue(queue, self._config)
        finally:
            queue.close()


def _send_task_files(shared: SharedQueue, home: Home, lease: Lease) -> None:
    """Store the files of the task itself, and note which artifacts both sides have now."""
    task_dir = home.task(lease.task.id)
    ours = in_step.artifacts(task_dir)
    if shared.files.put_task_files(lease, files_of_task(task_dir), replace=True) is None:
        stored = {each.path for each in shared.files.stored(lease.task.id) if each.run == OF_TASK}
        in_step.note(task_dir, {path: each for path, each in ours.items() if path in stored})


def is_message(request: Request) -> bool:
    """The request has a message for the task's agent; without one the agent is
    interrupted. Pure.
    """
    return request.wish == "tell" and bool(request.text)


def hand_on(home: Home, request: Request) -> None:
    """Give a message that came through the queue to the task's agents."""
    try:
        left = messages.unpacked(request.text)
    except msgspec.DecodeError:  # a host of another version left the words alone
        by = request.asked_by or "a person"
        left = Message(text=request.text, by=by, at=request.asked_at)
    task_dir = home.task(request.task_id)
    messages.add(task_dir, left.text, by=left.by, at=request.asked_at, review=left.review)


def _landing_of(home: Home, task_id: str, run: Run) -> Landing | None:
    """The landing of what this run left; None: no accepted work that is to land."""
    landing = landing_json.believed(home, task_id)
    if landing is None or landing.run != run.number or landing.commit:
        return None
    return landing if landing.state == "waiting" else None


def _leave_landing(home: Home, task_id: str, host: str) -> None:
    """The host that made the task lands the work: this host's lander has nothing to do."""

    def left(landing: Landing) -> Landing | None:
        return structs.replace(landing, host=host, at=datetime.now(UTC))

    landing_json.change(home, task_id, left)
    landing_json.forget_mark(home, task_id)


def _naming(decision: Decision, pushed: ResultPushed, url: str) -> Decision:
    """The decision; the reason for closing a task says where the work is."""
    if not isinstance(decision.settlement, Closed):
        return decision
    where = f"its work: {pushed.commit[:12]}, {pushed.ref} of {url}"
    closed = structs.replace(decision.settlement, reason=f"{decision.settlement.reason}\n{where}")
    return structs.replace(decision, settlement=closed)
