"""`bd kv` and `bd config`: values that clients keep in the queue."""

import re

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.pflag import ignored
from fleet.errors import BadInput
from fleet.queue.sql.tracker import named_values
from fleet.queue.sql.tracker.named_values import BASES, Kind
from fleet.schemas import STATUSES

#: Beginnings of keys that bd keeps for itself, and who owns them.
_RESERVED = ("kv.", "sync.", "conflict.", "federation.", "jira.", "linear.", "export.")
_STATUS = re.compile(r"[a-z][a-z0-9_-]*")


def _kind(call: Call) -> Kind:
    return "kv" if call.name.startswith("kv") else "config"


def _set(call: Call) -> Reply:
    key, value = values.exactly(call, 2)
    (_check_key if _kind(call) == "kv" else _check_setting)(key, value)
    named_values.set_value(call.queue, _kind(call), key, value)
    return call.confirmed(f"Set {key} = {value}", {"key": key, "value": value})


def _check_key(key: str, _: str) -> None:
    if not key:
        raise BadInput("invalid key: key cannot be empty")
    if key.startswith("memory."):
        raise BadInput(
            'invalid key: "memory." is reserved for memories; use bd remember and bd forget'
        )
    for prefix in _RESERVED:
        if key.startswith(prefix):
            raise BadInput(f'invalid key: "{prefix}" is reserved')


def _check_setting(key: str, value: str) -> None:
    if key not in ("types.custom", "status.custom"):
        raise BadInput(
            f"`bd config set {key}` means nothing on fleet's own queues",
            hint="They take types.custom and status.custom; for others: fleet init --queue beads",
        )
    for word in value.split(",") if key == "status.custom" else ():
        name, _, category = word.strip().partition(":")
        if category not in BASES:
            raise BadInput(
                f'invalid category "{category}" for status "{name}"'
                " (valid: active, wip, done, frozen)"
            )
        if name in STATUSES or not (_STATUS.fullmatch(name) or not word.strip()):
            raise BadInput(f'invalid status "{name}": a word of its own, like in_review')


def _get(call: Call) -> Reply:
    (key,) = values.exactly(call, 1)
    value = named_values.named_values(call.queue, _kind(call)).get(key)
    found = {"found": value is not None} if _kind(call) == "kv" else {}
    code = int(value is None and _kind(call) == "kv")
    text = f"{key} (not set)" if value is None else value
    return Reply(value={"key": key, "value": value or "", **found}, text=text, code=code)


def _list(call: Call) -> Reply:
    kept = named_values.named_values(call.queue, _kind(call))
    if _kind(call) == "config":
        kept = {"issue_prefix": call.queue.prefix, **kept}
    texts = [f"{key} = {value}" for key, value in sorted(kept.items())]
    return Reply(value=kept, text="\n".join(texts) or "No values are set.")


def _clear(call: Call) -> Reply:
    (key,) = values.exactly(call, 1)
    named_values.clear_value(call.queue, _kind(call), key)
    if _kind(call) == "kv":
        return call.confirmed(f"Cleared {key}", {"key": key, "deleted": "true"})
    return call.confirmed(f"Unset {key}", {"key": key})


KV_SET = Verb(run=_set, usage="bd kv set <key> <value>", about="Keep a named value", writes=True)
KV_GET = Verb(run=_get, usage="bd kv get <key>", about="Show a named value")
KV_LIST = Verb(run=_list, usage="bd kv list", about="List the named values")
KV_CLEAR = Verb(run=_clear, usage="bd kv clear <key>", about="Drop a named value", writes=True)
CONFIG_SET = Verb(
    run=_set,
    usage="bd config set <key> <value>",
    about="Add types (types.custom) or statuses (status.custom), by comma",
    flags=ignored("force-git-tracked", why="settings are in the queue, not in a file"),
    writes=True,
)
CONFIG_GET = Verb(run=_get, usage="bd config get <key>", about="Show a setting")
CONFIG_LIST = Verb(run=_list, usage="bd config list", about="List the settings")
CONFIG_UNSET = Verb(run=_clear, usage="bd config unset <key>", about="Drop a setting", writes=True)
