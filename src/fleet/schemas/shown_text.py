"""Text of tasks and agents as a terminal may be given it: shown, and never obeyed. Pure.

A terminal obeys control characters, and bidirectional ones change the order in which text is read.
Each is shown as an escape instead. Text that only programs read (JSON in a pipe, files) stays as it
is.
"""

import re

#: What is not printable and may stand in a JSON text as it is.
_IN_JSON = re.compile(
    r"[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def one_line(text: str) -> str:
    """Text on one line; control characters are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def harmless(text: str) -> str:
    """Text with its own lines and tabs, and every other control character as an escape."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def harmless_json(text: str) -> str:
    """JSON of the same meaning, in which no character is one that a terminal obeys."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
