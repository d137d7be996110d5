"""Hash ids `<prefix>-<base36>`, made as beads makes them, so that both agree on what an id is."""

import hashlib
from collections.abc import Iterator

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
