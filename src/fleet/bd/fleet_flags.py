"""The flags of `fleet bd create` and `update` that are fleet's own: where and with what a task
runs, what it has to show, and what it may use. They never reach the tracker.
"""

from fleet.bd.pflag import Flag

PLACE = (
    Flag("coder", help="The coder to use, instead of the configured one."),
    Flag("model", help="The model to use, as the coder calls it; with --coder."),
    Flag("account", help="The account to run on, and no other unless --fallback says so."),
    Flag("fallback", help="Where to go when there is no room: account:A, model:M, coder:C, none."),
    Flag("host", help="The host to run on, by its name, where machines share the queue."),
    Flag("cwd", help="The directory to work in, instead of this one."),
    Flag(
        "with-changes",
        "switch",
        help="On a queue that hosts share: push what is not committed, for other hosts too.",
    ),
    Flag("work-in", help="In git: clone (a clone of its own, on fleet/<id>), or directory."),
    Flag("isolation", help="Of an earlier fleet: now --work-in."),
    Flag("sandbox", help="The box around its agents: workspace or strict, if not set stricter."),
    Flag("load", help="What its CLI loads before the task (context): full, project or lean."),
)
EVIDENCE = (
    Flag(
        "expect",
        help="What must be there to show for it: any, change, answer, artifact:PATH, plan.",
    ),
    Flag("verify", "array", help="A command that must succeed before the task is closed."),
    Flag("pin", "array", help="A file that --verify needs, used as it was at the start."),
    Flag("scope", "array", help="Where files may be changed, like 'src/**'; else the directory."),
    Flag(
        "needs",
        "array",
        help="What it must have: mcp:NAME, tool:NAME; its machine: host:LABEL.",
    ),
)
LIMITS = (
    Flag("budget", help="What the whole task may spend, over all its runs: $5, 50M tokens, none."),
    Flag("timeout", help="How long a run may last, like 2h."),
    Flag("max-cost", help="What a run may cost, in dollars."),
    Flag("max-turns", help="How many answers of its model a run may take."),
    Flag("max-tokens", help="How many tokens a run may use, like 500k or 20M."),
    Flag("max-idle", help="How long a run may show nothing before it is looked at, like 10m."),
    Flag("max-output", help="How much a run may print, like 500MB."),
    Flag("max-memory", help="How much memory a run may hold, like 4GB."),
    Flag("max-processes", help="How many processes a run may have."),
)
#: All of them.
OWN = (*PLACE, *EVIDENCE, *LIMITS)
