"""`bd comment` and `comments` on a task; `remember`, `memories`, `recall`, `forget` beside them."""

import re

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output import json_shapes
from fleet.bd.output.lines import indented
from fleet.bd.pflag import Flag, ignored
from fleet.errors import BadInput
from fleet.queue.sql.tracker import comments
from fleet.queue.sql.tracker.related import comments_of
from fleet.schemas.shown_text import one_line

_KEY_LIKE = re.compile(r"[A-Za-z0-9][\w.-]*")


def _comment(call: Call) -> Reply:
    word, *rest = values.ids(call)
    text = values.spoken_text(call, rest)
    task = call.task(word)
    author = call.line.text("author") or call.actor
    added = comments.comment(call.queue, task.id, author=author, text=text)
    return call.confirmed(f"Comment added: {task.id} {task.title}", json_shapes.comment(added))


def _comments(call: Call) -> Reply:
    (word,) = values.exactly(call, 1)
    task = call.task(word)
    listed = comments_of(call.queue, [task.id]).get(task.id, [])
    texts = [
        f"{one.created_at:%Y-%m-%d %H:%M} {one_line(one.author)}\n{indented(one.text)}\n"
        for one in listed
    ]
    return Reply(
        value=[json_shapes.comment(one) for one in listed],
        text="\n".join(texts).rstrip() or f"No comments on {task.id}",
    )


def key_for(content: str) -> str:
    """The name of a memory that was given none: the first words."""
    words = re.sub(r"[^a-z0-9]+", "-", content.lower()).strip("-").split("-")
    return "-".join(words[:8])[:60].strip("-")


def _remember(call: Call) -> Reply:
    (content,) = values.exactly(call, 1)
    if not content.strip():
        raise BadInput("memory content cannot be empty")
    key = call.line.text("key")
    if not key and _KEY_LIKE.fullmatch(content):
        return _recall_instead(call, content)
    key = key or key_for(content)
    if not key:
        raise BadInput("no key can be made of that content; use --key")
    known = comments.remember(call.queue, key, content)
    action = "updated" if known else "remembered"
    text = f"{action.capitalize()} [{key}]: {_cut(content)}"
    return call.confirmed(text, {"action": action, "key": key, "value": content})


def _recall_instead(call: Call, key: str) -> Reply:
    """A bare word that names a memory reads that memory."""
    value = comments.recall(call.queue, key)
    if value is None:
        raise BadInput(
            f'no memory named "{key}", and a bare word is not stored as content',
            hint=f'To store it anyway: bd remember "{key}" --key {key}',
        )
    recalled = {"action": "recalled", "found": True, "key": key, "value": value}
    return Reply(value=recalled, text=value)


def _memories(call: Call) -> Reply:
    sought = values.at_most_one(call)
    kept = {
        key: value
        for key, value in comments.memories(call.queue).items()
        if sought.lower() in f"{key}\n{value}".lower()
    }
    texts = [f"{key}: {_cut(value)}" for key, value in kept.items()]
    return Reply(value=kept, text="\n".join(texts) or "No memories found.")


def _recall(call: Call) -> Reply:
    (key,) = values.exactly(call, 1)
    value = comments.recall(call.queue, key)
    if value is None:
        return _unknown(call, key, {"key": key, "value": "", "found": False})
    return Reply(value={"key": key, "value": value, "found": True}, text=value)


def _forget(call: Call) -> Reply:
    (key,) = values.exactly(call, 1)
    value = comments.forget(call.queue, key)
    if value is None:
        return _unknown(call, key, {"key": key, "found": "false"})
    return call.confirmed(f"Forgot [{key}]: {_cut(value)}", {"key": key, "deleted": "true"})


def _unknown(call: Call, key: str, value: object) -> Reply:
    if not call.json:
        call.warn(f'No memory with key "{key}"')
    return Reply(value=value, code=1)


def _cut(text: str) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= 100 else f"{line[:97]}..."


COMMENT = Verb(
    run=_comment,
    usage="bd comment <id> [text...] [flags]",
    about="Add a comment to an issue",
    flags=values.TEXT_FLAGS,
    writes=True,
)
COMMENTS = Verb(
    run=_comments,
    usage="bd comments <issue-id>, or bd comments add <issue-id> [text...]",
    about="List the comments on an issue, oldest first",
    flags=ignored("local-time", why="moments are in UTC"),
)
COMMENTS_ADD = Verb(
    run=_comment,
    usage="bd comments add <issue-id> [text...] [flags]",
    about="Add a comment to an issue",
    flags=(*values.TEXT_FLAGS, Flag("author", short="a", help="Who wrote the comment")),
    writes=True,
)
REMEMBER = Verb(
    run=_remember,
    usage='bd remember "<insight>" [flags]',
    about="Store a persistent memory",
    flags=(Flag("key", help="Name of the memory; one of that name is replaced"),),
    writes=True,
)
MEMORIES = Verb(
    run=_memories, usage="bd memories [search]", about="List or search persistent memories"
)
RECALL = Verb(run=_recall, usage="bd recall <key>", about="Retrieve a specific memory")
FORGET = Verb(run=_forget, usage="bd forget <key>", about="Remove a persistent memory", writes=True)
