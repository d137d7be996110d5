"""`fleet` without arguments: how this home stands, and the commands to go on with."""

import os
from collections.abc import Iterator, Mapping, Sequence

from fleet import control
from fleet.cli.terminal_text import painted, print_line
from fleet.errors import FleetError
from fleet.schemas.shown_text import cells, one_line

#: A command and what it is for.
NextStep = tuple[str, str]

_WATCH: Sequence[NextStep] = (
    ("fleet top", "watch and steer, on the whole screen"),
    ("fleet web", "the same as a page in your browser"),
    ("fleet tasks", "the same as lines; --all adds what waits and was done"),
    ("fleet status", "does a supervisor run, and what is in its way?"),
)
_CREATE: NextStep = ('fleet bd create "…"', "one more task, in its project's directory")


def print_next_steps(env: Mapping[str, str] = os.environ) -> None:
    """Print how the home stands and where to go, in a dozen lines at most."""
    words, steps = next_steps(env)
    print_line(words)
    column = max(cells(line) for line, _ in steps) + 2
    for line, what in steps:
        gap = " " * (column - cells(line))
        print_line(f"  {painted(line, 'bold')}{gap}{what}", column + 2)
    print_line(painted("All commands: fleet --help", "dim"))


def next_steps(env: Mapping[str, str]) -> tuple[str, list[NextStep]]:
    """A sentence on the state of the home that `env` names, and the steps that suit that state."""
    try:
        has_home = control.home_exists(env)
    except FleetError as error:
        return error.message, [("fleet doctor", "what is wrong here, and how to mend it")]
    if not has_home:
        return "There is no fleet home yet.", [
            ("fleet demo", "watch fleet at work: no account, nothing left behind"),
            ("fleet init", "make the home"),
            ("fleet doctor", "what a first run needs, and what of it is missing"),
        ]
    try:
        fleet = control.opened(env)
        tasks = fleet.queue.counts()
        asked = _asking(fleet) if tasks.get("blocked") else []
    except FleetError as error:
        return one_line(error.message), [
            ("fleet doctor", "what is wrong here, and how to mend it"),
            *([("", one_line(error.hint))] if error.hint else []),
        ]
    from fleet.control.status import is_supervised

    return _steps(tasks, asked, supervised=is_supervised(fleet.home))


def _asking(fleet: control.Control) -> list[str]:
    """The command that answers each question."""
    from fleet.control.tasks.questions import questions

    return [each.way_out for each in questions(fleet)[0]]


def _steps(
    tasks: Mapping[str, int], asked: Sequence[str], *, supervised: bool
) -> tuple[str, list[NextStep]]:
    unfinished = sum(number for status, number in tasks.items() if status != "closed")
    if not unfinished:
        return "The queue is empty.", [_CREATE, ("fleet plan apply SPEC", "tasks out of a spec")]
    steps: list[NextStep] = []
    if asked:
        what = "an agent asks" if len(asked) == 1 else f"{len(asked)} agents ask"
        steps.append((asked[0], f"{what}: fleet questions"))
    if not supervised:
        steps.append(("fleet run", "start agents; Ctrl-C gives the tasks back"))
    steps += [*_WATCH, _CREATE]
    return f"{', '.join(_state(tasks, supervised=supervised))}.", steps


def _state(tasks: Mapping[str, int], *, supervised: bool) -> Iterator[str]:
    yield "A supervisor runs" if supervised else "No supervisor runs"
    names = (("in_progress", "in progress"), ("open", "open"), ("blocked", "blocked"))
    yield from (f"{tasks[status]} {words}" for status, words in names if tasks.get(status))
