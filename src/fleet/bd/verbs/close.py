"""`bd close` and `bd reopen`: the end of a task, and its second beginning."""

from collections.abc import Sequence

from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import Shape, issue
from fleet.bd.pflag import Flag
from fleet.errors import FleetError, Refused
from fleet.queue.sql import edit_task
from fleet.queue.sql.actor_claims import claim_next
from fleet.queue.sql.tracker.related import freed_by
from fleet.queue.sql.tracker.search import Search
from fleet.schemas import Task

NO_ID = (
    "no issue ID provided (the last-touched fallback only applies in interactive sessions;"
    " pass an explicit issue ID or set BD_LAST_TOUCHED_FALLBACK=1)"
)
_REASONS = ("reason", "resolution", "message", "comment")


def _close(call: Call) -> int:
    call.writes("close")
    call.lacks("continue", "no-auto")
    words, reasons = _words(call)
    if not words:
        raise Failure(NO_ID)
    if len(reasons) not in (1, len(words)):
        raise Failure(
            f"got {len(reasons)} close reasons for {len(words)} issue IDs;"
            " provide exactly one shared reason or one reason per issue"
        )
    ids = [_resolved(call, word) for word in words]
    closed: list[Task] = []
    for number, task_id in enumerate(ids):
        reason = reasons[number if len(reasons) > 1 else 0] or "Closed"
        task = _closed(call, task_id, reason)
        if task is not None:
            closed.append(task)
            if not call.json:
                call.tell(f"✓ Closed {task.id} — {task.title}: {reason}")
    if not closed:
        return 1
    _follow(call, closed)
    return 0


def _words(call: Call) -> tuple[Sequence[str], Sequence[str]]:
    """The ids and the reasons. `bd done ID text` takes its last word as the reason."""
    line, words = call.line, call.words
    given = [reason for name in _REASONS for reason in line.list(name)]
    if line.has("reason-file"):
        if given:
            raise Failure(
                "cannot specify both --reason-file and --reason/--resolution/--message/--comment"
            )
        given = [values.text_of(call, line.text("reason-file"), "reason", channel="out")]
    if call.verb == "done" and len(words) > 1 and not given:
        return words[:-1], [words[-1]]
    return words, given or ["Closed"]


def _resolved(call: Call, word: str) -> str:
    try:
        return call.resolve(word)
    except FleetError as error:
        raise Failure(f"resolving ID {word}: {error.message}") from None


def _closed(call: Call, task_id: str, reason: str) -> Task | None:
    """The task, closed; or None after saying why it stays open."""
    try:
        return edit_task.close(
            call.queue,
            task_id,
            reason=reason,
            actor=call.actor,
            force=call.line.switch("force"),
            session=call.line.text("session") or call.env.get("CLAUDE_SESSION_ID", ""),
        )
    except Refused as refused:
        call.warn(f"{refused.message} ({refused.hint})" if refused.hint else refused.message)
        return None


def _follow(call: Call, closed: Sequence[Task]) -> None:
    """What --suggest-next and --claim-next do once something was closed."""
    answer: Shape = {}
    if call.line.switch("suggest-next"):
        freed = freed_by(call.queue, [task.id for task in closed])
        if freed and not call.json:
            call.tell("\nNewly unblocked:")
            for task in freed:
                call.tell(f"  • {task.id} — {task.title} (P{task.priority})")
        elif freed:
            answer["unblocked"] = [issue(task) for task in freed]
    if call.line.switch("claim-next"):
        task = claim_next(call.queue, Search(ready=True, order="fifo"), actor=call.actor)
        if task is not None and call.json:
            answer["claimed"] = issue(task)
        elif task is not None:
            call.tell(
                f"✓ Auto-claimed next ready issue: {task.id} — {task.title} (P{task.priority})"
            )
        elif not call.json:
            call.tell("\n✨ No ready issues available to claim.")
    if call.json:
        rows = [issue(task) for task in closed]
        call.put({"closed": rows, **answer} if answer else rows)


def _reopen(call: Call) -> int:
    call.writes("reopen")
    if not call.words:
        raise Failure("requires at least 1 arg(s), only received 0", channel="err")
    opened: list[Task] = []
    failed = False
    for word in call.words:
        try:
            task_id = call.resolve(word)
        except FleetError as error:
            call.warn(f"Error resolving {word}: {error.message}")
            failed = True
            continue
        reason = call.line.text("reason")
        edit = edit_task.reopen(call.queue, task_id, reason=reason, actor=call.actor)
        if edit.before.status == "open":
            call.warn(f"{task_id} is already open")
        elif edit.before.status != "closed":
            call.warn(f"{task_id} is not closed (status: {edit.before.status}); nothing to do")
        else:
            opened.append(edit.after)
            if not call.json:
                call.tell(f"↻ Reopened {task_id}{f': {reason}' if reason else ''}")
    if opened and call.json:
        call.put([issue(task) for task in opened])
    return 1 if failed else 0


CLOSE = Verb(
    run=_close,
    usage="bd close [id...] [flags]",
    about="Close one or more issues",
    flags=(
        Flag("reason", "array", "r", help="Reason for closing; one for all ids, or one for each"),
        Flag("resolution", "array", help="Alias for --reason"),
        Flag("message", "array", "m", help="Alias for --reason"),
        Flag("comment", "array", help="Alias for --reason"),
        Flag("reason-file", help="Read close reason from a file (- for standard input)"),
        Flag("force", "switch", "f", help="Close despite blockers, children, pins and holders"),
        Flag("suggest-next", "switch", help="Show newly unblocked issues after closing"),
        Flag("claim-next", "switch", help="Claim the next ready issue after closing"),
        Flag("session", help="Agent session id to record"),
        Flag("continue", "switch", help="Not on this queue"),
        Flag("no-auto", "switch", help="Not on this queue"),
    ),
)

REOPEN = Verb(
    run=_reopen,
    usage="bd reopen [id...] [flags]",
    about="Reopen one or more closed issues",
    flags=(Flag("reason", short="r", help="Reason for reopening, kept as a comment"),),
)
