"""Where things stand in a text of JSON: parsers tell values and not their lines. Pure."""

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def array_lines(text: str, *path: str) -> list[int]:
    """The lines that the entries of an array begin on, by the names that lead to the array."""
    found: list[int] = []
    names: list[str] = []
    open_: list[str] = []
    key, last = "", ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        in_array = bool(open_) and open_[-1] == "["
        if word in "{[":
            if in_array and last in "[," and tuple(names) == path:
                found.append(text.count("\n", 0, token.start()) + 1)
            open_.append(word)
            names.append("" if in_array else key)
            if len(open_) == 1:
                names.clear()
        elif word in "}]" and open_:
            open_.pop()
            if names:
                names.pop()
        elif word.startswith('"') and open_ and open_[-1] == "{" and last in "{,":
            key = word[1:-1]
        last = word
    return found
