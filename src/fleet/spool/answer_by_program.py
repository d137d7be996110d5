"""The lines that a program answers: the real bd on a beads queue, and fleet's reading commands.

Each program has a time and a size that it must not pass, and an environment of the supervisor's, in
which the agent has no say. No word of an agent can become a flag: words stand behind `--`.
"""

import os
from datetime import UTC, datetime, timedelta
from io import BytesIO

from fleet.bd.beads_create import create
from fleet.bd.command_line import find_verb
from fleet.bd.help import group_help, help_for, help_text
from fleet.bd.pflag import Parsed, Value, canonical
from fleet.errors import Refused
from fleet.processes.agent_identity import ASKED_BY
from fleet.processes.bounded_call import CallFailed, call
from fleet.processes.own_program import OWN_PROGRAM
from fleet.queue import doorbell
from fleet.queue.beads.bd_cli.bd_client import BdClient, users_environment
from fleet.queue.beads.write_lock import write_lock
from fleet.spool.agent_rights import AllowedLine
from fleet.spool.asker import Asker, Served
from fleet.spool.drop_box import AgentRequest, Answer
from fleet.spool.follow_up_rules import FOLLOWS

#: Seconds and bytes that a command of fleet's own may take.
_LIMIT, _LARGEST = 30.0, 4 << 20
#: What a flag that names a file says of the follow-up.
_TEXT_OF = {"body-file": "description", "design-file": "design"}


def answer_fleet(asked: AllowedLine, asker: Asker) -> Served:
    """Have a process that can change nothing read, rule on and carry out a line of fleet's."""
    env = {
        **os.environ, **asker.env, ASKED_BY: asker.task_id, "FLEET_HOME": str(asker.home.path),
        "NO_COLOR": "1", "TERM": "dumb",
    }  # fmt: skip
    argv = [*OWN_PROGRAM, *asked.args]
    done = call(argv, timeout=_LIMIT, env=env, cwd=asker.home.path, limit=_LARGEST)
    if isinstance(done, CallFailed):
        err = f"Error: the command {done.problem}\n"
        return Served(answer=Answer(code=1, out=done.text, err=err))
    refused = done.code == Refused.exit_code
    return Served(
        answer=Answer(code=done.code, out=done.text, err=done.err),
        refused=done.err.partition("\n")[0].removeprefix("Error: ") if refused else "",
    )


def answer_on_beads(
    asked: AllowedLine, request: AgentRequest, asker: Asker, *, held: bool = False
) -> Answer:
    """Have the real bd carry out one line that the table allows; `held`: new tasks wait for a
    person. Raises FleetError and FileMissing.
    """
    verb = find_verb(asked.name)
    if verb is None:
        return Answer(out=f"{group_help(asked.name)}\n")
    if asked.name == "help" or asked.line.switch("help"):
        text = help_text(asked.line.words) if asked.name == "help" else help_for(verb)
        return Answer(out=f"{text}\n")
    if asked.kind == "create":
        return _create(asked, request, asker, held=held)
    line = [*asked.name.split(), *canonical(_with_texts(asked, request))]
    if asked.kind == "read":
        return _call(["--readonly", *line], asker)
    try:
        patience = timedelta(seconds=asker.config.bd_timeout_s)
        with write_lock(asker.home.path, patience, politely=True):
            return _call(line, asker)
    finally:
        doorbell.ring(asker.home.path)


def _call(args: list[str], asker: Asker) -> Answer:
    limit = timedelta(seconds=asker.config.bd_timeout_s)
    client = BdClient(
        asker.home.path, timeout=limit, variables=users_environment(asker.home.path, os.environ)
    )
    done = client.call(args, actor=asker.name)
    code = done.code if done.code >= 0 else 128 - done.code
    return Answer(code=code, out=done.out.decode(errors="replace"), err=done.err)


def _with_texts(asked: AllowedLine, request: AgentRequest) -> Parsed:
    """The line with a file's content, or standard input, as its last word."""
    line = asked.line
    values = {name: value for name, value in line.values.items() if name not in ("file", "stdin")}
    words = list(line.words)
    if line.switch("stdin"):
        words.append(request.text("-"))
    elif line.has("file"):
        words.append(request.text(line.text("file")))
    return Parsed(values, tuple(words))


def _create(asked: AllowedLine, request: AgentRequest, asker: Asker, *, held: bool) -> Answer:
    if asked.line.has("file") or asked.line.has("graph"):
        raise Refused(
            "on a beads queue an agent makes follow-ups one at a time",
            hint='For each: bd create "TITLE" --description "…"',
        )
    settings = asker.follow_up_settings(datetime.now(UTC))
    asker.check_follow_ups(1)
    link = [] if _is_linked(asked, asker.task_id) else [f"--deps={FOLLOWS}:{asker.task_id}"]
    env = {**os.environ, **asker.env}
    made = create(
        asker.home.path, [*link, *canonical(_inlined(asked.line, request))], settings,
        verb=asked.name, environ=env, timeout=timedelta(seconds=asker.config.bd_timeout_s),
        stdin=BytesIO(), held=asker.proposer if held else "",
    )  # fmt: skip
    if made.tasks:
        asker.note_follow_ups(tuple(task.id for task in made.tasks), settings)
    out = made.out
    if made.code == 0 and made.tasks and made.style != "json":
        form = "{id}\n" if made.style == "id" else "Created {id}: {title}\n"
        out = "".join(form.format(id=task.id, title=task.title) for task in made.tasks)
    return Answer(code=made.code, out=out, err=made.err)


def _is_linked(asked: AllowedLine, task: str) -> bool:
    """The line already connects the follow-up with the task: there can be one edge."""
    named = [asked.line.text("parent"), *(w.rpartition(":")[2] for w in asked.line.list("deps"))]
    return any(word and task.endswith(word) for word in named)


def _inlined(line: Parsed, request: AgentRequest) -> Parsed:
    """The line with the content of files in the place of their names."""
    values: dict[str, Value] = {}
    for name, value in line.values.items():
        if name in _TEXT_OF:
            values[_TEXT_OF[name]] = request.text(str(value))
        elif name == "stdin" or (name == "description" and value == "-"):
            values["description"] = request.text("-")
        else:
            values[name] = value
    return Parsed(values, line.words)
