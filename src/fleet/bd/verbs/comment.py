"""bd comment, bd comments, bd note: what people and agents say about a task."""

from fleet.bd.arguments.positional import TEXT_FLAGS, at_least, found, text_of
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output import json_shapes
from fleet.bd.pflag import Flag
from fleet.queue.sql import edit_task
from fleet.queue.sql.tracker import comments

_WAYS = "positional args, --stdin, or --file"


def _comment(call: Call) -> int:
    word, *rest = at_least(call, 1)
    text = text_of(call, rest, "comment", ways=_WAYS)
    task = found(call, word)
    added = comments.comment(call.queue, task.id, author=call.actor, text=text)
    if call.json:
        call.put(json_shapes.comment(added))
    else:
        call.say(f"✓ Comment added to {task.id} — {task.title}")
    return 0


def _comments_add(call: Call) -> int:
    word, *rest = at_least(call, 1)
    text = text_of(call, rest, "comment", ways="positional args or -f to read from file")
    task = found(call, word)
    author = call.line.text("author") or call.actor
    added = comments.comment(call.queue, task.id, author=author, text=text)
    if call.json:
        call.put(json_shapes.comment(added))
    else:
        call.say(f"Comment added to {task.id}")
    return 0


def _comments(call: Call) -> int:
    if len(at_least(call, 1)) > 1:
        raise Failure(
            '"bd comments" takes a single issue id and lists its comments.\n\n'
            "To list comments:\n  bd comments <issue-id>\n\n"
            "To add a comment:\n  bd comments add <issue-id> <text>\n\n"
            "See: bd comments --help",
            channel="err",
        )
    task = found(call, call.words[0])
    listed = comments.comments(call.queue, task.id)
    if call.json:
        call.put([json_shapes.comment(one) for one in listed])
    elif not listed:
        call.say(f"No comments on {task.id}")
    else:
        local = call.line.switch("local-time")
        call.say(f"\nComments on {task.id}:\n")
        for one in listed:
            at = one.created_at.astimezone() if local else one.created_at
            call.say(f"[{one.author}] at {at:%Y-%m-%d %H:%M}")
            call.say("\n".join(f"  {line}".rstrip() for line in one.text.splitlines()))
            call.say()
    return 0


def _comments_list(call: Call) -> int:
    call.warn(
        'Error: "bd comments list" is not valid.\n\n'
        "To list comments on an issue, run:\n  bd comments <issue-id>\n\n"
        "Example:\n  bd comments bd-123\n\n"
        "See: bd comments --help"
    )
    return 1


def _note(call: Call) -> int:
    word, *rest = at_least(call, 1)
    text = text_of(call, rest, "note", ways=_WAYS)
    task = found(call, word)
    change = edit_task.Change(append_notes=text)
    after = edit_task.edit(call.queue, task.id, change, actor=call.actor).after
    if call.json:
        call.put(json_shapes.issue(after))
    else:
        call.say(f"✓ Note added to {task.id} — {task.title}")
    return 0


COMMENT = Verb(
    run=_comment,
    usage="bd comment <id> [text...] [flags]",
    about="Add a comment to an issue",
    flags=TEXT_FLAGS,
    writes=True,
)
COMMENTS = Verb(
    run=_comments,
    usage="bd comments [issue-id], or bd comments add [issue-id] [text...]",
    about="View or manage comments on an issue",
    flags=(Flag("local-time", "switch", help="Show timestamps in local time instead of UTC"),),
)
COMMENTS_ADD = Verb(
    run=_comments_add,
    usage="bd comments add [issue-id] [text...] [flags]",
    about="Add a comment to an issue",
    flags=(
        Flag("author", short="a", help="Add author to comment"),
        Flag("file", short="f", help="Read comment text from file"),
    ),
    writes=True,
)
COMMENTS_LIST = Verb(
    run=_comments_list,
    usage="bd comments <issue-id>",
    about="Invalid: use bd comments <issue-id> to list comments",
)
NOTE = Verb(
    run=_note,
    usage="bd note <id> [text...] [flags]",
    about="Append a note to an issue",
    flags=TEXT_FLAGS,
    writes=True,
)
