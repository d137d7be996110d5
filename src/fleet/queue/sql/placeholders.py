"""Our `:name` placeholders as PostgreSQL's `$1`, so that both engines share each statement."""

import re
from functools import lru_cache

#: A quoted string is passed over whole, and so is the `::` of a cast.
_TOKEN = re.compile(r"'(?:[^']|'')*'|::|:([a-z_]\w*)", re.IGNORECASE)


@lru_cache(maxsize=512)
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """The statement with `$1`, `$2`, and the names whose values go there."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _TOKEN.sub(number, sql), tuple(numbers)
