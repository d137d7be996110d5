"""bd stale and bd human: what was forgotten, and what waits for a person."""

from collections.abc import Sequence
from datetime import timedelta

from fleet.bd.arguments.positional import TEXT_FLAGS, at_least, found, text_of
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.queue.sql import edit_task
from fleet.queue.sql.task_row import take
from fleet.queue.sql.tracker import comments
from fleet.queue.sql.tracker.search import Search, search
from fleet.schemas import STATUSES, Status, Task

HUMAN_LABEL = "human"
_STALE: tuple[Status, ...] = ("open", "in_progress", "blocked", "deferred")
#: Done or set aside: not what a person has to look at.
_HIDDEN = ("closed", "pinned")


def _stale(call: Call) -> int:
    days = call.line.number("days", 30)
    if days < 1:
        raise Failure("--days must be at least 1")
    wanted = call.line.text("status")
    statuses: Sequence[Status] = (
        [status for status in _STALE if status == wanted] if wanted else _STALE[:2]
    )
    if not statuses:
        raise Failure(f"invalid status '{wanted}'. Valid values: {', '.join(_STALE)}")
    now = call.queue.db.now()
    limit = call.line.number("limit", 50)
    want = Search(
        statuses=statuses,
        spans=(("updated_at", "<", now - timedelta(days=days)),),
        labels=call.line.list("label"),
        any_label=call.line.list("label-any"),
        no_label_of=call.line.list("exclude-label"),
        order="updated",
        reverse=True,
        limit=limit if limit > 0 else None,
    )
    tasks = search(call.queue, want)
    if call.json:
        call.put([issue(task) for task in tasks])
    elif not tasks:
        call.say("\n✨ No stale issues found (all active)\n")
    else:
        call.say(f"\n⏰ Stale issues ({len(tasks)} not updated in {days}+ days):\n")
    for number, task in enumerate(() if call.json else tasks, start=1):
        age = (now - task.updated_at).days
        call.say(f"{number}. [P{task.priority}] {task.id}: {task.title}")
        call.say(f"   Status: {task.status}, Last updated: {age} days ago")
        if task.assignee:
            call.say(f"   Assignee: {task.assignee}")
        call.say()
    return 0


def _human_list(call: Call) -> int:
    asked = [part.strip() for part in call.line.text("status").split(",") if part.strip()]
    for name in asked:
        if name not in (*STATUSES, "all"):
            raise Failure(
                f'listing human beads: invalid status "{name}" (valid: {", ".join(STATUSES)})'
            )
    every = search(call.queue, Search(labels=(HUMAN_LABEL,)))
    if not asked:
        tasks = [task for task in every if task.status not in _HIDDEN]
    else:
        tasks = [task for task in every if task.status in asked or "all" in asked]
    if call.json:
        call.put([issue(task) for task in tasks])
    elif not tasks:
        call.say("No human-needed beads found.")
    else:
        call.say(f"\nHuman-needed beads ({len(tasks)} found)\n")
    for task in () if call.json else tasks:
        call.say(f"  {task.id} {task.title}")
        if task.status != "open":
            call.say(f"    Status: {task.status}")
        call.say(f"    Priority: P{task.priority}\n")
    return 0


def _respond(call: Call) -> int:
    word, *rest = at_least(call, 1)
    given = call.line.text("response")
    if given and rest:
        raise Failure(f'cannot combine positional text "{" ".join(rest)}" with --response')
    ways = "positional args, --response, --file, or --stdin"
    text = text_of(call, rest, "response", ways=ways, given=given)
    task = _finish(call, word, "Responded", f"Response: {text}")
    _done(call, task, f"✔ Bead {task.id} closed with response.")
    return 0


def _dismiss(call: Call) -> int:
    word, *rest = at_least(call, 1)
    given = call.line.text("reason")
    if given and rest:
        raise Failure(f'cannot combine positional text "{" ".join(rest)}" with --reason')
    reason = given or " ".join(rest)
    task = _finish(call, word, f"Dismissed: {reason}" if reason else "Dismissed", "")
    _done(call, task, f"✔ Bead {task.id} dismissed.")
    return 0


def _finish(call: Call, word: str, reason: str, comment: str) -> Task:
    task_id = found(call, word, f"resolving issue ID {word}").id
    with call.queue.db.writing():
        task = take(call.queue, task_id)
        if task.status == "closed":
            raise Failure(f"issue {task_id} is already closed")
        if comment:
            comments.comment(call.queue, task_id, author=call.actor, text=comment)
        edit_task.close(call.queue, task_id, reason=reason, actor=call.actor, force=True)
    if HUMAN_LABEL not in task.labels:
        call.warn(f"Warning: Issue {task_id} does not have 'human' label")
    return call.queue.get(task_id)


def _done(call: Call, task: Task, text: str) -> None:
    if call.json:
        call.put(issue(task))
    else:
        call.say(text)


def _stats(call: Call) -> int:
    tasks = search(call.queue, Search(labels=(HUMAN_LABEL,)))
    closed = [task for task in tasks if task.status == "closed"]
    dismissed = sum(task.close_reason.startswith("Dismissed") for task in closed)
    counts = {
        "total": len(tasks),
        "pending": len(tasks) - len(closed),
        "responded": len(closed) - dismissed,
        "dismissed": dismissed,
    }
    if call.json:
        call.put(counts)
    else:
        rows = [f"  {name.capitalize() + ':':<11} {count}" for name, count in counts.items()]
        call.say("\n".join(["\nHuman Beads Stats\n", *rows, ""]))
    return 0


def _human(call: Call) -> int:
    from fleet.bd.help import help_for

    call.say(help_for(HUMAN))
    return 0


def _label_flags() -> Sequence[Flag]:
    return (
        Flag("label", "list", "l", help="Must have ALL these labels"),
        Flag("label-any", "list", help="Must have AT LEAST ONE of these labels"),
        Flag("exclude-label", "list", help="Must have NONE of these labels"),
    )


STALE = Verb(
    run=_stale,
    usage="bd stale [flags]",
    about="Show stale issues (not updated recently)",
    flags=(
        Flag("days", "number", "d", help="Not updated in this many days (default 30)"),
        Flag("limit", "number", "n", help="Maximum issues to show (default 50)"),
        Flag("status", short="s", help="open, in_progress, blocked or deferred"),
        *_label_flags(),
    ),
)
HUMAN = Verb(
    run=_human,
    usage="bd human [list|respond|dismiss|stats]",
    about="Issues labelled 'human': those that wait for a person",
)
LIST = Verb(
    run=_human_list,
    usage="bd human list [flags]",
    about="List human-needed beads",
    flags=(Flag("status", short="s", help="Statuses by comma, or 'all'"),),
)
RESPOND = Verb(
    run=_respond,
    usage="bd human respond <issue-id> [response...] [flags]",
    about="Answer a human-needed bead (adds a comment and closes it)",
    flags=(Flag("response", short="r", help="Response text"), *TEXT_FLAGS),
    writes=True,
)
DISMISS = Verb(
    run=_dismiss,
    usage="bd human dismiss <issue-id> [reason...] [flags]",
    about="Dismiss a human-needed bead",
    flags=(Flag("reason", help="Reason for dismissal"),),
    writes=True,
)
STATS = Verb(
    run=_stats,
    usage="bd human stats",
    about="Show summary statistics for human-needed beads",
)
