"""The command line: one file a verb, each loaded only when it is called.

Nothing here imports click: `fleet ready`, `fleet show` and `fleet bd` are called by scripts,
prompts and agents all the time, and click costs as much as all the rest of them.
"""

from collections.abc import Mapping

#: Each command, the module of `fleet.cli` that holds it, and its line in `fleet --help`. The line
#: stands here so that the overview loads no command at all.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "Watch fleet at work with simulated agents, in a temporary directory."),
    "init": ("init", "Make the fleet home and choose its queue."),
    "bd": ("bd", "The task tracker: create, list, update and close tasks."),
    "run": ("run", "Work through the queue with as many agents as there are slots."),
    "status": ("status", "Say whether a supervisor is running, and how it does."),
    "tasks": ("tasks", "Show the tasks in progress."),
    "task": ("task", "Print one task's log, plan, events, receipt or diff, or restore its files."),
    "log": ("log", "Print the supervisor's newest log."),
    "ready": ("ready", "List tasks that could be worked on now."),
    "show": ("show", "Show one task: where and with what it runs, and how it stands."),
    "questions": ("questions", "List the tasks whose agent asks something."),
    "answer": ("answer", "Answer a task's question and put it back into the queue."),
    "tell": ("tell", "Tell a task's agent something while it works."),
    "stop": ("stop", "Stop a task's agent, or all of them."),
    "retry": ("retry", "Put a blocked task back into the queue."),
    "pause": ("pause", "Start no new runs until `fleet resume`."),
    "resume": ("resume", "Start runs again after `fleet pause`."),
    "restart": ("restart", "Swap the supervisor for a new one; agents run on."),
    "compare": ("compare", "Have several coders try one task, and keep the best."),
    "usage": ("usage", "Show where tokens and money went."),
    "stats": ("stats", "Show how each coder and model did."),
    "accounts": (
        "accounts",
        "Show the accounts, what is left of their limits, and who is on them.",
    ),
    "account": ("account", "Add, log in, check, pause or remove an account."),
    "coders": ("coders", "List the coders and whether each can run here."),
    "config": ("config", "Show or change settings."),
    "doctor": ("doctor", "Check what a first run needs, and say how to mend it."),
    "completion": ("completion", "Print a completion script for bash, zsh or fish."),
}
