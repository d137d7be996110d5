"""The command line: one file a verb, each loaded only when called.

Nothing here imports click: scripts, prompts and agents call `fleet ready`, `show`, `tasks`,
`status` and `bd` all the time, and click costs as much as the rest of such a command.
"""

from collections.abc import Mapping

#: Each command, the module of `fleet.cli` that holds it, and its line in `fleet --help`. The line
#: stands here so that `fleet --help` loads no command.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "Watch fleet at work with simulated agents, in a temporary directory."),
    "init": ("setup.init", "Make the fleet home and choose its queue."),
    "bd": ("tracker.bd", "The task tracker: create, list, update and close tasks."),
    "plan": ("plan.plan", "Make tasks of a spec, or have an agent write one."),
    "run": ("run.run", "Work through the queue with as many agents as there are slots."),
    "status": ("run.status", "Say whether a supervisor is running, and how it does."),
    "top": ("inspect.top", "Watch and steer on the whole screen."),
    "tasks": ("inspect.tasks", "Show the tasks in progress."),
    "web": ("inspect.web", "See and steer fleet in a browser."),
    "task": (
        "inspect.task",
        "Print one task's log, plan, events, receipt or diff.",
    ),
    "log": ("run.log", "Print the supervisor's newest log."),
    "audit": ("inspect.audit", "Print what people did, and check the record of it."),
    "ready": ("tracker.ready", "List tasks that could be worked on now."),
    "show": ("tracker.show", "Show one task: where and with what it runs, and how it stands."),
    "questions": ("run.questions", "List the tasks whose agent asks something."),
    "answer": ("run.answer", "Answer a task's question and put it back into the queue."),
    "tell": ("run.tell", "Tell a task's agent something while it works."),
    "review": (
        "landing.review",
        "Look at a task's work; approve it, or send it back with comments.",
    ),
    "land": ("landing.land", "List the work that waits to reach its branch, or land it."),
    "stop": ("run.stop", "Stop a task's agent, or all of them."),
    "retry": ("run.retry", "Put a blocked task back into the queue."),
    "trust": ("run.trust", "Let verify commands run that came with a task from elsewhere."),
    "pause": ("run.pause", "Start no new runs until `fleet resume`."),
    "resume": ("run.resume", "Start runs again after `fleet pause`."),
    "restart": ("run.restart", "Swap the supervisor for a new one; agents run on."),
    "shutdown": ("supervise.shutdown", "End the supervisor and its agents; their tasks go back."),
    "service": ("supervise.service", "Keep a supervisor running as a service of your login."),
    "metrics": ("supervise.metrics", "Print the figures of this home for Prometheus."),
    "notify": ("supervise.notify", "Tell people what needs them, and take their answers."),
    "otel": ("supervise.otel", "Send traces of tasks and runs to OpenTelemetry."),
    "schedule": ("supervise.schedule", "Create tasks at set times, by lines of cron."),
    "compare": ("compare.compare", "Have several coders try one task, and keep the best."),
    "usage": ("cost.usage", "Show where tokens and money went."),
    "stats": ("cost.stats", "Show how each coder and model did."),
    "accounts": (
        "setup.accounts",
        "Show the accounts, what is left of their limits, and which runs use them.",
    ),
    "account": ("setup.account", "Add, log in, check, pause or remove an account."),
    "coders": ("setup.coders", "List the coders and whether each can run here; trust their files."),
    "mcp": ("supervise.mcp", "Let your own agent look at fleet, or act on it, by MCP."),
    "hosts": ("hosts.hosts", "Show the machines that share the queue, and what each does."),
    "host": (
        "hosts.host_acts",
        "Drain, resume, give up or forget a machine of the queue.",
    ),
    "config": ("setup.config", "Show or change settings."),
    "queue": ("setup.queue_care", "Look at the queue itself, copy it, or put a copy back."),
    "doctor": ("setup.doctor", "Check what a first run needs, and say how to mend it."),
    "completion": ("setup.completion", "Print a completion script for bash, zsh or fish."),
}
