"""Named SQL: the `.sql` files of this folder as a mapping, with `{name}` inclusions resolved."""

import re
from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).parent
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)
_INCLUDE = re.compile(r"\{(\w+)\}")


def load(file: str, **dialect: str) -> Mapping[str, str]:
    """Every statement of one file; `dialect` gives what the two engines write differently."""
    parts = _NAME.split((_HERE / file).read_text(encoding="utf-8"))
    named = dict(dialect)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        named[name] = _COMMENT.sub("", body).strip()

    def expand(text: str) -> str:
        return _INCLUDE.sub(lambda found: expand(named[found[1]]), text)

    return {name: expand(text) for name, text in named.items()}
