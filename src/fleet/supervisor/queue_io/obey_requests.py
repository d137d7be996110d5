"""What people want of a task, as their commands left it in the queue."""

from collections.abc import Callable

from fleet.schemas import Request, Stopped
from fleet.schemas.decision import TOLD
from fleet.supervisor.state import SupervisorState
from fleet.supervisor.travel.host_travel import hand_on, is_message

Stop = Callable[..., bool]


def is_for_us(state: SupervisorState, request: Request) -> bool:
    """On a shared queue a request is for the supervisor that runs the task."""
    in_hand = state.assignments.get(request.task_id)
    if in_hand is not None and is_message(request):
        return in_hand.run is not None  # a run that is to begin gets it in its prompt
    return in_hand is not None or state.travel is None


def obey(state: SupervisorState, stop: Stop, request: Request) -> None:
    """Carry a request out; `stop` ends a task's run, and says whether there was any."""
    by, task_id = request.asked_by or "a person", request.task_id
    if is_message(request):
        hand_on(state.home, request)
        state.log.say("telling", f"{task_id}: a message of {by} came")
    elif request.wish == "tell" and stop(task_id, Stopped(by=TOLD)):
        state.log.say("telling", f"{task_id}: stopping for a message of {by}")
    elif request.wish == "stop" and stop(task_id, Stopped(by=by), now=request.text == "now"):
        state.log.say("stopping", f"{task_id}: stopping, as {by} asked")
    else:
        text = f"{task_id}: nothing to {request.wish}"
        state.log.say("ignored", text, asked_by=request.asked_by)
