"""`fleet bd update` with flags of fleet's own: what a task that exists runs with from now on.

The settings go into task.json, which decides; what the tracker knows of goes to the tracker first.
"""

import sys
from collections.abc import Callable, Sequence

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb
from fleet.bd.fleet_flags import OWN
from fleet.bd.only_beads import parse_line
from fleet.bd.pflag import FlagError, take
from fleet.control import Control
from fleet.control.acts.task_flags import FIELDS, FlagValues, plan_changes, shown_settings
from fleet.control.hosts.other_hosts import write_settings
from fleet.control.tasks.retry import try_changed
from fleet.errors import BadInput
from fleet.schemas import Settings, Task
from fleet.schemas.shown_text import harmless, one_line


def update(fleet: Control, args: Sequence[str], forward: Callable[[Sequence[str]], int]) -> int:
    """Carry out one `update`; `forward` has the tracker answer a line."""
    verb = find_verb("update")
    assert verb is not None
    known = (*verb.flags, *GLOBAL)
    try:
        given, rest = take(OWN, known, args)
        line = parse_line("update", known, rest) if given else None
    except FlagError as error:
        print(harmless(f"Error: {error}"), file=sys.stderr)
        return 1
    if line is None:
        return forward(["update", *args])
    if not line.words:
        raise BadInput("no task was named", hint="For example: fleet bd update x4f --budget '$5'")
    tasks = [fleet.get(word) for word in line.words]
    changed = plan_changes(fleet, tasks, given)
    for_tracker = line.values.keys() - {flag.name for flag in GLOBAL}
    if for_tracker and (code := forward(["update", *rest])) != 0:
        return code
    for task, settings in changed:
        write_settings(fleet, task, settings)
        try_changed(fleet, task.id)
        if not line.switch("json"):
            print(_change_words(task, settings, given))
    if line.switch("json") and not for_tracker:
        return forward(["show", *(task.id for task in tasks), "--json"])
    return 0


def _change_words(task: Task, settings: Settings, given: FlagValues) -> str:
    names = {FIELDS.get(flag, flag) for flag in given}
    shown = [
        f"{name}: {one_line(value)}"
        for name, value in shown_settings(settings)
        if name in names or (name.startswith("max ") and names - set(Settings.__struct_fields__))
    ]
    later = "; from its next run on" if task.status == "in_progress" else ""
    return f"Updated {task.id}: {one_line(task.title)}  [{', '.join(shown)}{later}]"
