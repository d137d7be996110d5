"""The command line: one file a verb, each loaded only when it is called.

Nothing here imports click: `fleet ready`, `fleet show` and `fleet bd` are called by scripts,
prompts and agents all the time, and click costs as much as all the rest of them.
"""

from collections.abc import Mapping

#: Each command, the module of `fleet.cli` that holds it, and its line in `fleet --help`. The line
#: stands here so that the overview loads no command at all.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("init", "Make the fleet home and choose its queue."),
    "bd": ("bd", "The task tracker: create, list, update and close tasks."),
    "run": ("run", "Work through the queue with as many agents as there are slots."),
    "ready": ("ready", "List tasks that could be worked on now."),
    "show": ("show", "Show one task: where and with what it runs, and how it stands."),
    "config": ("config", "Show or change settings."),
    "doctor": ("doctor", "Check what a first run needs, and say how to mend it."),
}
