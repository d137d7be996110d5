"""The table of acts: each verb with fields, action, command line, and the role that may use the
verb.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from shlex import join
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.acts import wishes
from fleet.control.acts.wishes import Given
from fleet.control.audit.audit_log import record
from fleet.control.landing.only_people import refuse_agents
from fleet.errors import BadInput, FleetError, NotFound
from fleet.schemas import Task

#: What a session may do: look; look and answer; everything.
Role = Literal["view", "answer", "operate"]


class Act(Struct, frozen=True):
    """One verb."""

    verb: str
    about: str
    wish: type[Any]
    role: Role
    do: Callable[[Control, Any, Mapping[str, str]], tuple[str, Any]]
    line: Callable[[Any], list[str]]


class ActField(Struct, frozen=True, kw_only=True):
    """A field that a verb takes."""

    name: str
    required: bool


class ActShown(Struct, frozen=True, kw_only=True):
    """A verb as a surface offers it."""

    verb: str
    about: str
    role: Role
    fields: tuple[ActField, ...] = ()


class ActEnd(Struct, frozen=True, kw_only=True):
    """What an act came to."""

    verb: str
    #: The task of the act; empty: all of fleet.
    id: str = ""
    #: The command line that does the same.
    line: str
    #: A sentence for the person.
    words: str
    #: What the command's `--json` prints, if anything.
    value: Any = None


def carry_out(
    fleet: Control,
    verb: str,
    given: Given,
    *,
    surface: str,
    session: str = "",
    env: Mapping[str, str] = os.environ,
) -> ActEnd:
    """Do what a person asks for, and record the act. Raises FleetError, and then the person is told
    why.

    `surface` is where the person is: `web`, `top`, `mcp`, or the channel that the wish came by;
    `session`: which browser, since a page can be opened on many devices.
    """
    noted = partial(record, fleet.home, surface=surface, session=session, env=env)
    try:
        end = _carried_out(fleet, verb, given, env)
    except FleetError as error:
        line = f"fleet {verb[:80]} {given.get('id', '')}".strip()
        why = f"refused: {error.message}"
        noted(verb=verb[:80], line=line, end=why)
        raise
    lost = noted(verb=verb, task=end.id, line=end.line)
    return structs.replace(end, words=f"{end.words} But {lost}.") if lost else end


def _carried_out(fleet: Control, verb: str, given: Given, env: Mapping[str, str]) -> ActEnd:
    act = find_act(verb)
    refuse_agents(env, act.about.lower().rstrip("."))
    wish = _wish(act, given)
    words, value = act.do(fleet, wish, env)
    task_id = value.id if isinstance(value, Task) else str(getattr(wish, "id", ""))
    return ActEnd(verb=verb, id=task_id, line=join(act.line(wish)), words=words, value=value)


def command_line(verb: str, given: Given) -> str:
    """The command line that an act stands for. Raises what `carry_out` raises for bad fields."""
    act = find_act(verb)
    return join(act.line(_wish(act, given)))


def _wish(act: Act, given: Given) -> Any:
    try:
        return msgspec.convert(given, act.wish)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{act.verb}: {error}", hint=f"{act.verb} takes {_fields_told(act)}."
        ) from None


def find_act(verb: str) -> Act:
    """A verb of the table. Raises NotFound."""
    if verb not in ACTS:
        raise NotFound(f"there is no act {verb[:80]!r}", hint=f"Known: {', '.join(ACTS)}")
    return ACTS[verb]


def shown_acts() -> tuple[ActShown, ...]:
    """Every verb with the verb's fields, for surfaces that offer them."""
    return tuple(
        ActShown(verb=act.verb, about=act.about, role=act.role, fields=_fields(act))
        for act in ACTS.values()
    )


def _fields(act: Act) -> tuple[ActField, ...]:
    kinds = cast("type[Struct]", act.wish)
    return tuple(ActField(name=each.name, required=each.required) for each in structs.fields(kinds))


def _fields_told(act: Act) -> str:
    names = [each.name if each.required else f"[{each.name}]" for each in _fields(act)]
    return ", ".join(names) or "nothing"


def _create(fleet: Control, wish: wishes.CreateWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.acts.create import create

    made = create(fleet, wish, env=env)
    return f"{made.id} is in the queue.", made


def _create_line(wish: wishes.CreateWish) -> list[str]:
    flags = [f"--cwd={wish.cwd}"]
    plain = ("description", "design", "acceptance", "notes", "parent", "assignee")
    flags += [f"--{name}={value}" for name in plain if (value := getattr(wish, name))]
    flags += [f"--priority={wish.priority}"] if wish.priority != 2 else []
    flags += [f"--type={wish.type}"] if wish.type != "task" else []
    flags += [f"--labels={','.join(wish.labels)}"] if wish.labels else []
    deps = [*wish.depends_on, *(f"blocks:{each}" for each in wish.blocks)]
    flags += [f"--deps={','.join(deps)}"] if deps else []
    for name, value in wish.flags.items():
        flags += [f"--{name}={each}" for each in ((value,) if isinstance(value, str) else value)]
    return ["fleet", "bd", "create", wish.title, *flags]


def _answer(fleet: Control, wish: wishes.AnswerWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.tasks.questions import answer

    now = datetime.now(UTC).astimezone()
    task = answer(fleet, fleet.get(wish.id), wish.text, at=now, force=wish.force, env=env)
    words = {
        "in_progress": f"The agent of {task.id} goes on with the answer.",
        "closed": f"{task.id} is refused and closed.",
    }
    return words.get(task.status, f"{task.id} is open again; its agent goes on with it."), task


def _tell(fleet: Control, wish: wishes.TellWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.tasks.tell import tell

    task = fleet.get(wish.id)
    told = tell(fleet, task, wish.text, now=wish.now, env=env)
    return f"{task.id}: {told.words}.", told


def _stop(fleet: Control, wish: wishes.StopWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.tasks.stop import stop

    end = stop(fleet, fleet.get(wish.id), now=wish.now, env=env)
    if not end.ended:
        return f"{end.task_id} could not be stopped: some of its processes are still alive.", end
    return f"{end.task_id} is stopped.", end


def _retry(fleet: Control, wish: wishes.RetryWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.acts.task_flags import budget_from
    from fleet.control.tasks.retry import retry

    budget = None if wish.budget is None else budget_from(wish.budget)
    task = retry(fleet, fleet.get(wish.id), budget=budget, fresh=wish.fresh, env=env)
    return f"{task.id} is open again; its attempts are forgotten.", task


def _pause(fleet: Control, wish: wishes.PauseWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.pause import pause

    del wish, env
    return ("Paused" if pause(fleet.home) else "Paused already") + ": no new runs.", None


def _resume(fleet: Control, wish: wishes.ResumeWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.pause import unpause
    from fleet.control.resume import resume_coder
    from fleet.control.tasks.stop_all import retry_stopped

    if wish.coder is not None:
        tasks = resume_coder(fleet, wish.coder, env=env)
        return f"{wish.coder} gets work again; {len(tasks)} tasks waited for it.", None
    words = "Resumed." if unpause(fleet.home) else "Nothing was paused."
    return words, retry_stopped(fleet) if wish.retry_stopped else None


def _resume_line(wish: wishes.ResumeWish) -> list[str]:
    flags = ["--coder", wish.coder] if wish.coder else []
    return ["fleet", "resume", *flags, *(["--retry-stopped"] if wish.retry_stopped else [])]


def _stop_all(fleet: Control, wish: wishes.StopAllWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.tasks.stop_all import stop_all

    if wish.confirm != "stop":
        raise BadInput("to stop everything, confirm it with the word stop")
    end = stop_all(fleet.home, now=wish.now, env=env)
    left = "" if end.gone else " Some processes are still alive."
    return f"{len(end.runs)} runs were ended, and no new run begins.{left}", end


def _reject(fleet: Control, wish: wishes.RejectWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.review.review import remarks_on, send_back, work_of

    task = fleet.get(wish.id)
    places = [(f"{each.path}:{each.line}", each.text) for each in wish.comments]
    remarks = remarks_on(work_of(fleet, task.id), places) if places else []
    done = send_back(fleet, task, verdict=wish.text, remarks=remarks, env=env)
    if done.reopened:
        return f"{task.id} is open again: its next run goes on with what you said.", done
    if done.told.reader == "agent":
        return f"Its agent (run {done.told.run}) reads it with its next step.", done
    return "Its next run goes on with what you said.", done


def _reject_line(wish: wishes.RejectWish) -> list[str]:
    flags = ["--reject", wish.text] if wish.text else []
    for each in wish.comments:
        flags += ["--comment", f"{each.path}:{each.line}", each.text]
    return ["fleet", "review", wish.id, *flags]


def _approve(fleet: Control, wish: wishes.OneTaskWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.landing.approve import approve

    (landing,) = approve(fleet, [fleet.get(wish.id).id], env=env)
    return f"Approved: {landing.words()}.", landing


def _land(fleet: Control, wish: wishes.OneTaskWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.landing.land import land

    task = fleet.get(wish.id)
    end = land(fleet, [task.id], wait=False, tell=_unheard, env=env)
    if task.id in end.landed:
        return f"{task.id} has landed.", end
    return next((f"{task.id}: {words}." for each, words in end.left if each == task.id), ""), end


def _hold(fleet: Control, wish: wishes.OneTaskWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.landing.approve import hold

    landing = hold(fleet, fleet.get(wish.id).id, env=env)
    return f"{wish.id}: {landing.words()}.", landing


def _release(fleet: Control, wish: wishes.OneTaskWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.landing.approve import release

    landing = release(fleet, fleet.get(wish.id).id, env=env)
    return f"{wish.id}: {landing.words()}.", landing


def _revert(fleet: Control, wish: wishes.OneTaskWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.landing.revert import revert

    end = revert(fleet, fleet.get(wish.id), env=env)
    return f"Taken back from {end.into} as {end.commit[:12]}.", end


def _pick(fleet: Control, wish: wishes.PickWish, env: Mapping[str, str]) -> tuple[str, Any]:
    from fleet.control.compare.finish import pick

    end = pick(fleet, fleet.get(wish.id), wish.entry, force=wish.force, env=env)
    return f"{wish.entry} was picked for {wish.id}.", end


def _unheard(text: str) -> None:
    del text


def _flag(line: list[str], **flags: bool) -> list[str]:
    return [*line, *(f"--{name}" for name, given in flags.items() if given)]


_ACTS = (
    Act(
        "create", "Create a task.", wishes.CreateWish, "operate", _create, _create_line
    ),
    Act(
        "answer", "Answer what an agent asks.", wishes.AnswerWish, "answer", _answer,
        lambda wish: _flag(["fleet", "answer", wish.id, wish.text], force=wish.force),
    ),
    Act(
        "tell", "Tell a task's agent something.", wishes.TellWish, "answer", _tell,
        lambda wish: _flag(["fleet", "tell", wish.id, wish.text], now=wish.now),
    ),
    Act(
        "stop", "End a task's run.", wishes.StopWish, "operate", _stop,
        lambda wish: _flag(["fleet", "stop", wish.id], now=wish.now),
    ),
    Act(
        "retry", "Put a task back into the queue.", wishes.RetryWish, "operate", _retry,
        lambda wish: [
            *_flag(["fleet", "retry", wish.id], fresh=wish.fresh),
            *(["--budget", wish.budget] if wish.budget else []),
        ],
    ),
    Act(
        "pause", "Start no new runs.", wishes.PauseWish, "operate", _pause,
        lambda _: ["fleet", "pause"],
    ),
    Act("resume", "Start runs again.", wishes.ResumeWish, "operate", _resume, _resume_line),
    Act(
        "stop_all", "End every run.", wishes.StopAllWish, "operate", _stop_all,
        lambda wish: _flag(["fleet", "stop", "--all"], now=wish.now),
    ),
    Act("reject", "Send work back.", wishes.RejectWish, "operate", _reject, _reject_line),
    Act(
        "approve", "Let work land.", wishes.OneTaskWish, "operate", _approve,
        lambda wish: ["fleet", "review", wish.id, "--approve"],
    ),
    Act(
        "land", "Approve work and land it.", wishes.OneTaskWish, "operate", _land,
        lambda wish: ["fleet", "land", wish.id],
    ),
    Act(
        "hold", "Keep work from landing.", wishes.OneTaskWish, "operate", _hold,
        lambda wish: ["fleet", "land", "--hold", wish.id],
    ),
    Act(
        "release", "Let held work land again.", wishes.OneTaskWish, "operate", _release,
        lambda wish: ["fleet", "land", "--release", wish.id],
    ),
    Act(
        "revert", "Take landed work off its branch.", wishes.OneTaskWish, "operate", _revert,
        lambda wish: ["fleet", "land", "--revert", wish.id],
    ),
    Act(
        "pick", "Land one entry of a comparison.", wishes.PickWish, "operate", _pick,
        lambda wish: _flag(["fleet", "compare", wish.id, "--pick", wish.entry], force=wish.force),
    ),
)  # fmt: skip
ACTS: Mapping[str, Act] = {act.verb: act for act in _ACTS}
