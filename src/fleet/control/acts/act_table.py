"""The acts by their verbs, for surfaces that get a verb's name and its fields: read, carried out,
and recorded.
"""

from collections.abc import Mapping
from shlex import join
from typing import Any

import msgspec
from msgspec import Struct, structs

from fleet.control import Control, refuse_agents
from fleet.control.acts import each_act
from fleet.control.acts.audit_log import recording
from fleet.control.acts.each_act import Act, Role
from fleet.errors import BadInput, NotFound
from fleet.schemas import Task, typed

_ACTS: tuple[type[Act], ...] = (
    each_act.CreateAct, each_act.AnswerAct, each_act.TellAct, each_act.StopAct, each_act.RetryAct,
    each_act.PauseAct, each_act.ResumeAct, each_act.StopAllAct, each_act.RejectAct,
    each_act.ApproveAct, each_act.LandAct, each_act.HoldAct, each_act.ReleaseAct,
    each_act.RevertAct, each_act.PickAct,
)  # fmt: skip
ACTS: Mapping[str, type[Act]] = {act.verb: act for act in _ACTS}

#: The fields that a person gave, by their names.
GivenFields = Mapping[str, Any]


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
    fleet: Control, verb: str, given: GivenFields, *, surface: str, session: str = ""
) -> ActEnd:
    """Do what a person asks for, and record the act. Raises FleetError, and then the person is told
    why.

    `surface` is where the person is: `web`, `top`, `mcp`, or the channel that the wish came by;
    `session`: which browser, since a page can be opened on many devices.
    """
    line = f"fleet {verb[:80]} {given.get('id', '')}".strip()
    with recording(
        lambda: fleet.home, verb[:80], line, surface=surface, session=session, env=fleet.env
    ) as noted:
        refuse_agents(fleet.env, about(find_act(verb)).lower().rstrip("."))
        act = _read(verb, given)
        words, value = act.do(fleet)
        noted.task = value.id if isinstance(value, Task) else str(getattr(act, "id", ""))
        noted.line = join(act.line())
    if noted.unrecorded:
        words = f"{words.rstrip('.')}. But {noted.unrecorded}."
    return ActEnd(verb=verb, id=noted.task, line=noted.line, words=words, value=value)


def command_line(verb: str, given: GivenFields) -> str:
    """The command line that an act stands for. Raises what `carry_out` raises for bad fields."""
    return join(_read(verb, given).line())


def find_act(verb: str) -> type[Act]:
    """A verb of the table. Raises NotFound."""
    if verb not in ACTS:
        raise NotFound(f"there is no act {verb[:80]!r}", hint=f"Known: {', '.join(ACTS)}")
    return ACTS[verb]


def about(act: type[Act]) -> str:
    """What a verb does, in a sentence."""
    return act.__doc__ or ""


def shown_acts() -> tuple[ActShown, ...]:
    """Every verb with the verb's fields, for surfaces that offer them."""
    return tuple(
        ActShown(verb=act.verb, about=about(act), role=act.role, fields=_fields(act))
        for act in _ACTS
    )


def _read(verb: str, given: GivenFields) -> Act:
    act = find_act(verb)
    try:
        return typed.convert(given, act)
    except msgspec.ValidationError as error:
        names = [each.name if each.required else f"[{each.name}]" for each in _fields(act)]
        takes = ", ".join(names) or "nothing"
        raise BadInput(f"{verb}: {error}", hint=f"{verb} takes {takes}.") from None


def _fields(act: type[Act]) -> tuple[ActField, ...]:
    return tuple(ActField(name=each.name, required=each.required) for each in structs.fields(act))
