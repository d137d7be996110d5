"""The table of acts: each verb with fields, action, command line, and the role that may use the
verb.
"""

from collections.abc import Callable, Mapping
from shlex import join
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, structs

from fleet.control import Control, refuse_agents
from fleet.control.acts import each_act, wishes
from fleet.control.acts.each_act import Acted
from fleet.control.acts.wishes import WishFields
from fleet.control.audit.record_act import ActRecorder
from fleet.errors import BadInput, NotFound
from fleet.schemas import Task

#: What a session may do: look; look and answer; everything.
Role = Literal["view", "answer", "operate"]
Do = Callable[[Control, Any], Acted[Any]]


class Act(Struct, frozen=True):
    """One verb."""

    verb: str
    about: str
    wish: type[Any]
    role: Role
    do: Do
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
    given: WishFields,
    *,
    surface: str,
    session: str = "",
) -> ActEnd:
    """Do what a person asks for, and record the act. Raises FleetError, and then the person is told
    why.

    `surface` is where the person is: `web`, `top`, `mcp`, or the channel that the wish came by;
    `session`: which browser, since a page can be opened on many devices.
    """
    line = f"fleet {verb[:80]} {given.get('id', '')}".strip()
    noted = ActRecorder(verb[:80], line, surface=surface, session=session, env=fleet.env)
    with noted.recording(lambda: fleet.home):
        end = _carried_out(fleet, verb, given)
        noted.task, noted.line = end.id, end.line
    if not noted.unrecorded:
        return end
    return structs.replace(end, words=f"{end.words.rstrip('.')}. But {noted.unrecorded}.")


def _carried_out(fleet: Control, verb: str, given: WishFields) -> ActEnd:
    act = find_act(verb)
    refuse_agents(fleet.env, act.about.lower().rstrip("."))
    wish = _wish(act, given)
    done = act.do(fleet, wish)
    task_id = done.value.id if isinstance(done.value, Task) else str(getattr(wish, "id", ""))
    line = join(act.line(wish))
    return ActEnd(verb=verb, id=task_id, line=line, words=done.words, value=done.value)


def command_line(verb: str, given: WishFields) -> str:
    """The command line that an act stands for. Raises what `carry_out` raises for bad fields."""
    act = find_act(verb)
    return join(act.line(_wish(act, given)))


def _wish(act: Act, given: WishFields) -> Any:
    try:
        return msgspec.convert(given, act.wish)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{act.verb}: {error}", hint=f"{act.verb} takes {_field_words(act)}."
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


def _field_words(act: Act) -> str:
    names = [each.name if each.required else f"[{each.name}]" for each in _fields(act)]
    return ", ".join(names) or "nothing"


def _create(fleet: Control, wish: wishes.CreateWish) -> Acted[Any]:
    from fleet.control.acts.create import create

    return create(fleet, wish)


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


def _answer(fleet: Control, wish: wishes.AnswerWish) -> Acted[Any]:
    return each_act.answer(fleet, fleet.get(wish.id), wish.text, force=wish.force)


def _tell(fleet: Control, wish: wishes.TellWish) -> Acted[Any]:
    return each_act.tell(fleet, fleet.get(wish.id), wish.text, now=wish.now)


def _retry(fleet: Control, wish: wishes.RetryWish) -> Acted[Any]:
    from fleet.control.acts.task_flags import budget_from

    budget = None if wish.budget is None else budget_from(wish.budget)
    return each_act.retry(fleet, fleet.get(wish.id), budget=budget, fresh=wish.fresh)


def _resume(fleet: Control, wish: wishes.ResumeWish) -> Acted[Any]:
    if wish.coder is not None:
        return each_act.resume_coder(fleet, wish.coder)
    return each_act.resume(fleet, retry_stopped=wish.retry_stopped)


def _resume_line(wish: wishes.ResumeWish) -> list[str]:
    flags = ["--coder", wish.coder] if wish.coder else []
    return ["fleet", "resume", *flags, *(["--retry-stopped"] if wish.retry_stopped else [])]


def _stop_all(fleet: Control, wish: wishes.StopAllWish) -> Acted[Any]:
    if wish.confirm != "stop":
        raise BadInput("to stop everything, confirm it with the word stop")
    return each_act.stop_all(fleet.home, now=wish.now, env=fleet.env)


def _reject(fleet: Control, wish: wishes.RejectWish) -> Acted[Any]:
    places = [(f"{each.path}:{each.line}", each.text) for each in wish.comments]
    return each_act.reject(fleet, fleet.get(wish.id), wish.text, places)


def _reject_line(wish: wishes.RejectWish) -> list[str]:
    flags = ["--reject", wish.text] if wish.text else []
    for each in wish.comments:
        flags += ["--comment", f"{each.path}:{each.line}", each.text]
    return ["fleet", "review", wish.id, *flags]


def _land(fleet: Control, wish: wishes.OneTaskWish) -> Acted[Any]:
    return each_act.land(fleet, [fleet.get(wish.id).id], wait=False)


def _pick(fleet: Control, wish: wishes.PickWish) -> Acted[Any]:
    return each_act.pick(fleet, fleet.get(wish.id), wish.entry, force=wish.force)


def _of_landing(act: Callable[..., Acted[Any]]) -> Do:
    """An act that needs nothing but the task's id."""
    return lambda fleet, wish: act(fleet, fleet.get(wish.id).id)


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
        "stop", "End a task's run.", wishes.StopWish, "operate",
        lambda fleet, wish: each_act.stop(fleet, wish.id, now=wish.now),
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
        "pause", "Start no new runs.", wishes.PauseWish, "operate",
        lambda fleet, _: each_act.pause(fleet.home),
        lambda _: ["fleet", "pause"],
    ),
    Act("resume", "Start runs again.", wishes.ResumeWish, "operate", _resume, _resume_line),
    Act(
        "stop_all", "End every run.", wishes.StopAllWish, "operate", _stop_all,
        lambda wish: _flag(["fleet", "stop", "--all"], now=wish.now),
    ),
    Act("reject", "Send work back.", wishes.RejectWish, "operate", _reject, _reject_line),
    Act(
        "approve", "Let work land.", wishes.OneTaskWish, "operate",
        _of_landing(each_act.approve),
        lambda wish: ["fleet", "review", wish.id, "--approve"],
    ),
    Act(
        "land", "Approve work and land it.", wishes.OneTaskWish, "operate", _land,
        lambda wish: ["fleet", "land", wish.id],
    ),
    Act(
        "hold", "Keep work from landing.", wishes.OneTaskWish, "operate",
        _of_landing(each_act.hold),
        lambda wish: ["fleet", "land", "--hold", wish.id],
    ),
    Act(
        "release", "Let held work land again.", wishes.OneTaskWish, "operate",
        _of_landing(each_act.release),
        lambda wish: ["fleet", "land", "--release", wish.id],
    ),
    Act(
        "revert", "Take landed work off its branch.", wishes.OneTaskWish, "operate",
        lambda fleet, wish: each_act.revert(fleet, fleet.get(wish.id)),
        lambda wish: ["fleet", "land", "--revert", wish.id],
    ),
    Act(
        "pick", "Land one entry of a comparison.", wishes.PickWish, "operate", _pick,
        lambda wish: _flag(["fleet", "compare", wish.id, "--pick", wish.entry], force=wish.force),
    ),
)  # fmt: skip
ACTS: Mapping[str, Act] = {act.verb: act for act in _ACTS}
