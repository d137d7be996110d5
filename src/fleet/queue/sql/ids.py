"""Ids of new tasks: the one that was asked for, the parent's next number, or a hash. Hashes are
made as beads makes them, `<prefix>-<base36>`, so that both agree on what an id is.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from fleet.errors import NotFound, QueueError, Refused
from fleet.queue.protocol import Draft
from fleet.queue.sql.row_mapping import to_micros
from fleet.schemas import check_id

if TYPE_CHECKING:
    from fleet.queue.sql.sql_queue import SqlQueue

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: Bytes of the hash that are read for an id of each length.
_BYTES = {3: 2, 4: 3, 5: 4, 6: 4, 7: 5, 8: 5}
SHORTEST, LONGEST = min(_BYTES), max(_BYTES)
NONCES = 10


def hash_id(prefix: str, seed: str, nonce: int, length: int) -> str:
    """One id. `seed` is `title|description|creator|nanoseconds`, as in beads."""
    seed = f"{seed}|{nonce}"
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[: _BYTES[length]])
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return f"{prefix}-{digits.rjust(length, '0')[-length:]}"


def candidates(prefix: str, seed: str, length: int) -> Iterator[str]:
    """Ids to try in order, longer ones once all nonces of a length are taken."""
    for longer in range(length, LONGEST + 1):
        for nonce in range(NONCES):
            yield hash_id(prefix, seed, nonce, longer)


def free_id(queue: "SqlQueue", draft: Draft, now: datetime) -> str:
    """A free id for a draft; inside the transaction that uses the id."""
    queue.rows("lock_graph")  # two machines must not take one id
    if draft.id is not None:
        if queue.exists(check_id(draft.id)):
            raise Refused(f"issue {draft.id} already exists")
        return draft.id
    if draft.parent is not None:
        return _child_id(queue, draft.parent)
    return _hash_id(queue, draft, now)


def _child_id(queue: "SqlQueue", parent: str) -> str:
    """The parent's next number. A number that was given by hand is passed over."""
    while numbered := queue.rows("next_child", {"id": parent}):
        child = f"{parent}.{numbered[0][0]}"
        if not queue.exists(child):
            return child
    raise NotFound(f'no issue found matching "{parent}"')


def _hash_id(queue: "SqlQueue", draft: Draft, now: datetime) -> str:
    """A free hash id; the first collision at a length shows that ids must grow longer."""
    known = queue.rows("meta", {"key": "id_length"})
    length = int(known[0][0]) if known else SHORTEST
    nanos = (to_micros(now) or 0) * 1000
    seed = f"{draft.title}|{draft.description}|{draft.created_by}|{nanos}"
    for number, candidate in enumerate(candidates(queue.prefix, seed, length)):
        if not queue.exists(candidate):
            if number and length < LONGEST:
                longer = {"key": "id_length", "value": str(length + 1)}
                queue.rows("set_meta", longer)
            return candidate
    raise QueueError("no free id could be found", hint="Give one with --id.")
