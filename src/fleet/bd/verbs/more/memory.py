"""bd remember, memories, recall, forget, and bd kv: what is kept beside the tasks."""

import re

from fleet.bd.arguments.positional import at_most, exactly, readable
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker import comments

_KEY_LIKE = re.compile(r"[A-Za-z0-9][\w.-]*")
_RESERVED = ("sync.", "conflict.", "federation.", "jira.", "linear.", "export.")
_MEMORY = "memory."


def key_for(content: str) -> str:
    """The name of a memory that was given none: its first words."""
    words = re.sub(r"[^a-z0-9]+", "-", content.lower()).strip("-").split("-")
    return "-".join(words[:8])[:60].strip("-")


def _remember(call: Call) -> int:
    (content,) = exactly(call, 1)
    readable(content, "the memory")
    if not content.strip():
        raise Failure("memory content cannot be empty")
    key = call.line.text("key")
    if not key and _KEY_LIKE.fullmatch(content):
        return _recall_instead(call, content)
    key = key or key_for(content)
    if not key:
        raise Failure("could not generate key from content; use --key to specify one")
    known = comments.remember(call.queue, key, content)
    if call.json:
        call.put({"action": "updated" if known else "remembered", "key": key, "value": content})
    else:
        call.say(f"{'Updated' if known else 'Remembered'} [{key}]: {_cut(content, 80)}")
    return 0


def _recall_instead(call: Call, key: str) -> int:
    """A bare word that names a memory reads it."""
    value = comments.recall(call.queue, key)
    if value is None:
        raise Failure(
            f'no memory named "{key}" to recall -- and refusing to store a bare key-like token as'
            " its own content. `bd remember` WRITES (its positional arg is CONTENT, not a key)."
            f' To store it anyway: `bd remember "{key}" --key {key}`.'
            " To browse keys: `bd memories`"
        )
    if call.json:
        call.put({"action": "recalled", "found": True, "key": key, "value": value})
    else:
        call.say(value)
        call.warn(
            f'(recalled "{key}" -- a bare existing key READS.'
            f' To overwrite: `bd remember "<new content>" --key {key}`)'
        )
    return 0


def _memories(call: Call) -> int:
    words = at_most(call, 1)
    sought = words[0] if words else ""
    kept = {
        key: value
        for key, value in comments.memories(call.queue).items()
        if sought.lower() in f"{key}\n{value}".lower()
    }
    if call.json:
        call.put(kept)
    elif kept:
        call.say(f'Memories matching "{sought}":\n' if sought else f"Memories ({len(kept)}):\n")
        for key, value in kept.items():
            call.say(f"  {key}\n    {_cut(value, 120)}\n")
    elif sought:
        call.say(f'No memories matching "{sought}"')
    else:
        call.say("No memories stored. Use 'bd remember \"insight\"' to add one.")
    return 0


def _recall(call: Call) -> int:
    (key,) = exactly(call, 1)
    value = comments.recall(call.queue, key)
    if call.json:
        call.put({"key": key, "value": value or "", "found": value is not None})
    elif value is None:
        call.warn(f'No memory with key "{key}"')
    else:
        call.say(value)
    return 0 if value is not None else 1


def _forget(call: Call) -> int:
    (key,) = exactly(call, 1)
    value = comments.forget(call.queue, key)
    if call.json:
        call.put({"key": key, "deleted": "true"} if value is not None else _absent(key))
    elif value is None:
        call.warn(f'No memory with key "{key}"')
    else:
        call.say(f"Forgot [{key}]: {_cut(value, 80)}")
    return 0 if value is not None else 1


def _absent(key: str) -> dict[str, str]:
    return {"key": key, "found": "false"}


def _cut(text: str, width: int) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _kv_set(call: Call) -> int:
    key, value = exactly(call, 2)
    if not key:
        raise Failure("invalid key: key cannot be empty")
    if key.startswith(_MEMORY):
        raise Failure(
            f'invalid key: key cannot start with "{_MEMORY}" (reserved for persistent memories;'
            " use 'bd remember' / 'bd forget')"
        )
    if key.startswith("kv."):
        raise Failure("invalid key: key cannot start with 'kv.' (would create nested prefix)")
    for prefix in _RESERVED:
        if key.startswith(prefix):
            raise Failure(f'invalid key: key cannot start with reserved prefix "{prefix}"')
    comments.set_named_value(call.queue, key, value)
    if call.json:
        call.put({"key": key, "value": value})
    else:
        call.say(f"Set {key} = {value}")
    return 0


def _kv_get(call: Call) -> int:
    (key,) = exactly(call, 1)
    value = comments.named_values(call.queue).get(key)
    if call.json:
        call.put({"key": key, "value": value or "", "found": value is not None})
    elif value is None:
        call.warn(f"{key} (not set)")
    else:
        call.say(value)
    return 0 if value is not None else 1


def _kv_list(call: Call) -> int:
    kept = dict(comments.named_values(call.queue))
    kept |= {f"{_MEMORY}{key}": value for key, value in comments.memories(call.queue).items()}
    if call.json:
        call.put(kept)
    elif kept:
        rows = [f"  {key} = {value}" for key, value in sorted(kept.items())]
        call.say("\n".join(["\nKey-Value Store:", *rows]))
    else:
        call.say("No key-value pairs set")
    return 0


def _kv_clear(call: Call) -> int:
    (key,) = exactly(call, 1)
    comments.clear_named_value(call.queue, key)
    if call.json:
        call.put({"key": key, "deleted": "true"})
    else:
        call.say(f"Cleared {key}")
    return 0


def _kv(call: Call) -> int:
    from fleet.bd.help import help_for

    call.say(help_for(KV))
    return 0


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
KV = Verb(run=_kv, usage="bd kv [set|get|list|clear]", about="Key-value store commands")
KV_SET = Verb(
    run=_kv_set, usage="bd kv set <key> <value>", about="Set a key-value pair", writes=True
)
KV_GET = Verb(run=_kv_get, usage="bd kv get <key>", about="Get a value by key")
KV_LIST = Verb(run=_kv_list, usage="bd kv list", about="List all key-value pairs")
KV_CLEAR = Verb(
    run=_kv_clear, usage="bd kv clear <key>", about="Delete a key-value pair", writes=True
)
