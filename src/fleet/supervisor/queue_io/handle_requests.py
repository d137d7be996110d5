"""Carries out what people want of the supervisor for one task, as their commands left it in the
queue: a stop, a message, an answer.
"""

from functools import partial

from fleet.errors import FleetError
from fleet.extend import Duty
from fleet.queue.protocol import Queue
from fleet.runs.questions.asked_json import record_answer
from fleet.schemas import Request, Stopped
from fleet.schemas.decision import MESSAGE
from fleet.spool.drop_box import give_answer
from fleet.supervisor.hosts.host_travel import hand_on, is_message
from fleet.supervisor.state import Happening, QueueChanged, SupervisorState
from fleet.supervisor.stop_runs import stop_task


class RequestHandler(Duty):
    """Reads the requests of people, and carries out each once."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        #: The requests are being read.
        self._reading = False
        #: Requests that were carried out, until the queue knows that.
        self._carried_out: set[str] = set()

    def on_event(self, event: Happening) -> None:
        if isinstance(event, QueueChanged) and not self._reading:
            self._reading = True
            self._state.queue.call(lambda queue: queue.requests(), self._handle_each)

    def _handle_each(self, requests: list[Request]) -> None:
        self._reading = False
        for request in requests:
            if request.id not in self._carried_out and self._is_ours(request):
                self._carried_out.add(request.id)
                self._handle(request)
                self._state.queue.call(partial(_answered, request), self._carried_out.discard)

    def _is_ours(self, request: Request) -> bool:
        """On a shared queue a person's request is for the supervisor that runs the task."""
        in_hand = self._state.assignments.get(request.task_id)
        if in_hand is not None and is_message(request):
            return in_hand.run is not None  # a run that is to begin gets the message in the prompt
        return in_hand is not None or self._state.travel is None

    def _handle(self, request: Request) -> None:
        by, task_id = request.asked_by or "a person", request.task_id
        state = self._state
        say = partial(state.log.say, task_dir=state.home.task(task_id))
        if is_message(request):
            hand_on(state.home, request)
            if (in_hand := state.assignments.get(task_id)) is not None:
                state.keep_words(in_hand)
            say("telling", f"{task_id}: a message of {by} came")
        elif request.wish == "answer":
            say("answered", f"{task_id}: {self._answer(request, by)}")
        elif request.wish == "tell" and stop_task(state, task_id, Stopped(by=MESSAGE)):
            say("telling", f"{task_id}: stopping for a message of {by}")
        elif request.wish == "stop" and stop_task(
            state, task_id, Stopped(by=by), now=request.text == "now"
        ):
            say("stopping", f"{task_id}: stopping, as {by} asked")
        else:
            say("ignored", f"{task_id}: nothing to {request.wish}", asked_by=request.asked_by)

    def _answer(self, request: Request, by: str) -> str:
        """Give the agent that waits the answer of a person on another host; returns what came of
        that.
        """
        in_hand = self._state.assignments.get(request.task_id)
        question, _, text = request.text.partition(" ")
        if in_hand is None or in_hand.run is None:
            return "it has no run that an answer could be for"
        run = in_hand.run.run
        try:
            given = record_answer(run.task_dir, question, text, by=by, at=request.asked_at)
            give_answer(run, question, given)
        except (FleetError, OSError) as error:
            return f"the answer of {by} was not taken: {error}"
        return f"{by} answered its question"


def _answered(request: Request, queue: Queue) -> str:
    queue.answered(request)
    return request.id
