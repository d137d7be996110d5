"""What an agent may do with `bd` and `fleet`: one table, and the rules that read the table. Pure.

Whatever is not in the table is refused. What is refused names the way that an agent has instead.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.only_beads import parse_line
from fleet.bd.pflag import FlagError, Parsed, Value
from fleet.errors import BadInput, Refused
from fleet.queue import PREFIX

RightKind = Literal[
    #: Reads, of any task.
    "read",
    #: Says how the own task stands. It is recorded, and the supervisor decides after the run.
    "claim",
    #: Writes notes of the own task.
    "note",
    #: Comments on any task.
    "comment",
    #: Creates follow-ups of the own task.
    "create",
    #: Connects the own task and its follow-ups.
    "link",
    #: Asks a person. Asking the same twice is asking once.
    "ask",
    #: Says how far the agent is.
    "progress",
    #: Concerns the tracker's storage, which fleet keeps.
    "storage",
    "refused",
]


class Right(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    kind: RightKind
    #: The flags that an agent may give; None: all that the command has but `refused_flags`.
    flags: frozenset[str] | None = None
    refused_flags: frozenset[str] = frozenset()
    #: What an agent can do instead.
    instead: str = ""


_ASK = 'ask a person: bd update {task} --status blocked --notes "QUESTION: …"'
_COMMENT = 'say it in a comment: bd comment ID "…"'
_ONLY_PEOPLE = f"Only people do that; {_ASK}"
_OWN_END = 'To end your own task: bd close {task} --reason "…"'

_PERSONS = Right(kind="refused", instead=_ONLY_PEOPLE)
_READ = Right(kind="read")
#: An expression can take for ever, and the supervisor would wait.
_SLOW = frozenset(("label-regex",))
_STORAGE = Right(kind="storage", instead="The person who runs fleet sees to the tracker.")
_BY_COMMENT = Right(kind="refused", instead=f"Only people change that; {_COMMENT}")
_CLAIM = Right(
    kind="claim",
    flags=frozenset(
        ("reason", "resolution", "message", "comment", "reason-file", "session", "force",
         "suggest-next", "status", "claim", "notes", "append-notes")
    ),
)  # fmt: skip

#: What agents may say of a follow-up. Where and with what a follow-up runs comes from the parent.
_CREATE = Right(
    kind="create",
    flags=frozenset(
        ("title", "description", "body", "message", "body-file", "stdin", "design", "design-file",
         "allow-empty-description", "labels", "parent", "priority", "type", "acceptance", "notes",
         "append-notes", "external-ref", "spec-id", "no-inherit-labels", "deps", "estimate", "due",
         "context", "skills", "file", "graph", "silent", "dry-run")
    ),
    instead="A follow-up runs where and as its parent does. If it needs something else,"
    f" {_COMMENT}",
)  # fmt: skip

#: Every command of bd.
BD: Mapping[str, Right] = {
    **dict.fromkeys(
        ("children", "comments", "comments list", "config get", "config list", "dep cycles",
         "dep list", "dep tree", "epic status", "help", "human list", "kv get", "kv list",
         "label list", "memories", "ping", "prime", "recall", "show", "stats", "status", "version",
         "view", "where"),
        _READ,
    ),
    **dict.fromkeys(("blocked", "count", "list", "search", "stale"), Right(
        kind="read", refused_flags=_SLOW, instead="Labels of one form: --label-pattern",
    )),
    "ready": Right(
        kind="read",
        refused_flags=_SLOW | {"claim"},
        instead="fleet claims tasks, and gives each to a run of its own. Labels of one form:"
        " --label-pattern",
    ),
    "export": Right(
        kind="read",
        refused_flags=frozenset(("output",)),
        instead="Without --output the tasks are printed.",
    ),
    **dict.fromkeys(("close", "done", "reopen", "update"), _CLAIM),
    "note": Right(kind="note", flags=frozenset(("stdin", "file"))),
    **dict.fromkeys(("comment", "comments add"), Right(
        kind="comment", flags=frozenset(("stdin", "file")),
        instead="A comment bears the name of the agent that wrote it.",
    )),
    **dict.fromkeys(("create", "new", "q"), _CREATE),
    "dep add": Right(
        kind="link",
        flags=frozenset(("blocked-by", "depends-on", "type", "no-cycle-check")),
        instead=f"An agent connects its own task and follow-ups; of others {_COMMENT}",
    ),
    **dict.fromkeys(("dep remove", "dep rm", "duplicate", "label add", "label remove", "priority",
         "supersede"), _BY_COMMENT),
    **dict.fromkeys(
        ("assign", "defer", "undefer", "unclaim"),
        Right(kind="refused", instead=f"{_OWN_END}; or {_ASK}"),
    ),
    "delete": Right(kind="refused", instead=f"Only people delete tasks; {_COMMENT}"),
    "import": Right(kind="refused", instead="To make tasks: bd create, or bd create --file"),
    **dict.fromkeys(("config set", "config unset"), _PERSONS),
    **dict.fromkeys(("hb", "heartbeat"), Right(
        kind="refused", instead="fleet renews the lease of each run; there is nothing to do."
    )),
    **dict.fromkeys(("remember", "forget", "kv clear", "kv set"), Right(
        kind="refused",
        instead="Memories are read by the agents of all tasks, so only people write them. Put what"
        " you know into KNOWLEDGE.md, or comment on the task that it helps.",
    )),
    **dict.fromkeys(
        ("dolt", "sync", "init", "info", "setup", "hooks", "doctor"), _STORAGE
    ),
}  # fmt: skip


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name}" for name in sorted(names))


def _reads(*flags: str) -> Right:
    """A command that reads, with the flags that an agent may give."""
    return Right(
        kind="read",
        flags=frozenset(flags),
        instead=f"An agent gives {_flags(flags)}. A request is answered once: ask again later.",
    )


#: Every command of fleet that agents have, with its flags, and what they have instead of others. A
#: command or a sub-command that is not named is refused.
FLEET: Mapping[str, Right] = {
    # `fleet` alone, and the group of all commands.
    "": _reads("debug"),
    **dict.fromkeys(("log", "questions", "show", "status"), _reads("json")),
    "ready": _reads("json", "limit"),
    "tasks": _reads("all", "json", "limit"),
    "stats": _reads("json", "since"),
    "task": _reads("json", "run", "stat"),
    "usage": _reads("by", "json", "prices", "since"),
    "bd": Right(kind="refused", instead="Write the command as: bd …, or fleet bd …"),
    "review": Right(
        kind="refused",
        instead="To look at work: fleet task ID receipt, fleet task ID diff. Only people judge"
        f" work; {_COMMENT}",
    ),
    "coders": Right(
        kind="refused",
        instead="A follow-up runs with the coder of its parent. Who ran a task: fleet show ID",
    ),
    "land": Right(kind="refused", instead=f"Only people land work; {_COMMENT}"),
    **dict.fromkeys(("stop", "retry", "pause", "resume", "restart", "run", "shutdown"), Right(
        kind="refused", instead=f"Only people start and stop runs. {_OWN_END}"
    )),
    "tell": Right(kind="refused", instead=f"Only people tell agents; {_COMMENT}"),
    "answer": Right(kind="refused", instead=f"Only people answer questions; {_COMMENT}"),
    "plan": Right(
        kind="refused",
        instead="Only people make tasks of a plan. To make a follow-up: bd create; to propose a"
        f" plan: write it into your artifacts, and {_ASK}",
    ),
    "top": Right(kind="refused", instead="It needs a terminal; to look: fleet tasks, fleet status"),
    "mcp": Right(
        kind="refused",
        instead="An agent's tools are those of its own server, if its CLI has one: ask_human.",
    ),
    "compare": Right(kind="refused", instead=f"Only people compare coders; {_COMMENT}"),
    "trust": Right(
        kind="refused", instead=f"An agent could have made the task itself; {_COMMENT}"
    ),
}  # fmt: skip

#: Every call of fleet's MCP server. `park_question` is the server's own: no agent is offered it.
MCP: Mapping[str, Right] = {
    "ask_human": Right(kind="ask"),
    "park_question": Right(kind="claim"),
    "report_progress": Right(kind="progress"),
    "propose_task": Right(kind="create"),
}

#: Of the flags that every command of bd has, those that would speak for another, or elsewhere.
_FOREIGN = frozenset(
    ("actor", "author", "database", "db", "directory", "dolt-auto-commit", "global")
)
_FLEETS = frozenset(flag.name for flag in OWN)
_EVERYWHERE = frozenset(flag.name for flag in GLOBAL) - _FOREIGN - _FLEETS


class AllowedLine(Struct, frozen=True, kw_only=True):
    """A command line of an agent that the table allows."""

    #: Which program answers; `fleet bd` is bd.
    program: Literal["bd", "fleet", "mcp"] = "bd"
    kind: RightKind
    #: The name of the command, `dep add`.
    name: str
    #: The line of bd, read once: what was ruled is what is carried out.
    line: Parsed = Parsed({}, ())
    #: The line of fleet's, which the process that carries it out reads and rules on.
    args: tuple[str, ...] = ()

    def with_flag(self, name: str, value: Value) -> "AllowedLine":
        """The same line with one more flag, which fleet adds."""
        line = Parsed({**self.line.values, name: value}, self.line.words)
        return structs.replace(self, line=line)


def allowed(
    program: str, args: Sequence[str], *, task: str, follow_ups: Sequence[str]
) -> AllowedLine:
    """What the table makes of a command line. Raises Refused, and BadInput for one that cannot be
    read. A line of fleet's is read and held against the table by the process that carries it out.

    `task` is the task of the run that asks, and `follow_ups` are those that its runs made.
    """
    if program == "mcp":
        return _of_mcp(args)
    if program == "fleet" and list(args[:1]) != ["bd"]:
        return AllowedLine(program="fleet", kind="read", name="fleet", args=tuple(args))
    return _of_bd(list(args[1:] if program == "fleet" else args), task, follow_ups)


def check_fleet(command: str, given: Collection[str], task: str) -> None:
    """Refuse a command of fleet's that was read, `coders trust`, with the flags that it was given.

    The agent of `task` asks. Raises Refused for what the table does not name.
    """
    right = FLEET.get(command)
    if right is None or right.kind != "read":
        first = FLEET.get(command.partition(" ")[0], _PERSONS)
        raise _refused(f"`fleet {command}`", _PERSONS if first.kind == "read" else first, task)
    if wrong := set(given) - (right.flags or frozenset()):
        raise _refused(f"`{f'fleet {command}'.strip()}` with {_flags(wrong)}", right, task)


def _of_mcp(args: Sequence[str]) -> AllowedLine:
    right = MCP.get(args[0]) if len(args) == 1 else None
    if right is None:
        raise Refused(f"{' '.join(args)[:100]!r} is no tool that agents have")
    return AllowedLine(program="mcp", kind=right.kind, name=args[0])


def _of_bd(words: list[str], task: str, follow_ups: Sequence[str]) -> AllowedLine:
    name, rest = split_command(words)
    right = BD.get(name)
    if right is None and any(verb.startswith(f"{name} ") for verb in BD):
        return AllowedLine(kind="read", name=name)
    if right is None:
        raise Refused(f"`bd {name}` is not a command that agents have", hint="See: bd --help")
    if right.kind == "refused":
        raise _refused(f"`bd {name}`", right, task)
    verb = find_verb(name)
    if verb is None:
        return AllowedLine(kind=right.kind, name=name)
    own = OWN if right.kind in ("create", "claim") else ()
    try:
        line = parse_line(name, (*verb.flags, *GLOBAL, *own), rest)
    except FlagError as error:
        raise BadInput(str(error)) from None
    if not line.switch("help"):
        idle = frozenset(flag.name for flag in verb.flags if flag.ignored)
        _check_flags(name, line.values.keys() - idle, right, task)
        _check_tasks(name, line, right, task, follow_ups)
    return AllowedLine(kind=_kind(right, line), name=name, line=line)


def _kind(right: Right, line: Parsed) -> RightKind:
    if line.switch("help"):
        return "read"
    says_status = line.has("status") or line.switch("claim")
    notes_only = (
        right.kind == "claim"
        and not says_status
        and (line.has("notes") or line.has("append-notes"))
    )
    return "note" if notes_only else right.kind


def _check_flags(name: str, given: Collection[str], right: Right, task: str) -> None:
    wrong = frozenset(given) & (_FOREIGN | right.refused_flags)
    if right.flags is not None:
        wrong |= frozenset(given) - right.flags - _EVERYWHERE
    if not wrong:
        return
    if name == "update":
        right = _BY_COMMENT
    raise _refused(f"`bd {name}` with {_flags(wrong)}", right, task)


def _check_tasks(
    name: str, line: Parsed, right: Right, task: str, follow_ups: Sequence[str]
) -> None:
    """Refuse a line that names tasks which are not the agent's to change."""
    if right.kind in ("claim", "note"):
        named = line.words[:1] if name in ("done", "note") else line.words
        if not all(word.strip() for word in named) or not named:
            raise BadInput("no task is named", hint=f"The task of this run is {task}.")
        others = [word for word in named if not is_task(word, task)]
        if others:
            raise Refused(
                f"{others[0]} is not the task of this run, which is {task}",
                hint=f'Leave it to its own agent, or write to it: bd comment {others[0]} "…"',
            )
    if right.kind in ("create", "link"):
        known = (task, *follow_ups)
        for word in _connected(name, line):
            if not any(is_task(word, each) for each in known):
                raise Refused(
                    f"{word} is neither the task of this run ({task}) nor a follow-up of it",
                    hint=f"An agent connects only these; of {word} {_COMMENT}",
                )


def _connected(name: str, line: Parsed) -> list[str]:
    """The tasks that a line would connect with others."""
    words = list(line.words) if name == "dep add" else []
    words += [line.text(flag) for flag in ("parent", "blocked-by", "depends-on")]
    words += [word.rpartition(":")[2] for word in line.list("deps")]
    return [word for word in words if word]


def is_task(word: str, task: str) -> bool:
    """Whether the word names this task: the id, or the id without the prefix."""
    return word in (task, task.removeprefix(f"{PREFIX}-"))


def _refused(what: str, right: Right, task: str) -> Refused:
    hint = right.instead or "An agent speaks for itself, and to the tracker that fleet has."
    return Refused(f"an agent may not run {what}", hint=hint.replace("{task}", task))
