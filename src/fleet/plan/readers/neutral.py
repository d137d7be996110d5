"""`fleet.plan/1`, fleet's own format, as TOML or JSON. Pure.

Also where the entries of an array stand in a text of JSON: parsers tell values and not their lines.
"""

import json
import re
import tomllib
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from fleet.errors import BadInput
from fleet.plan.neutral_plan import FORMAT, Plan, SpecFile, SpecText
from fleet.schemas import typed

_TABLE = re.compile(r"^\s*\[\[\s*task\s*\]\]")
_QUOTES = re.compile(r'"""|\'\'\'')
_ENTRY = re.compile(r"\$\.task\[(\d+)\]")
_FIELD = re.compile(r"unknown field `([^`]+)`|\$\.(\w+)")
#: A key of more parts than any plan has: each costs the parser as much as all before it.
_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){16}""", re.ASCII
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')
_HINT = "See the format: fleet plan --help, and docs/reference.md#plans"


def read_neutral(spec: SpecText) -> Plan:
    """The plan that a file holds. Raises BadInput."""
    file = spec.main
    is_json = file.text.lstrip().startswith("{")
    data = load_json(file) if is_json else _load_toml(file)
    lines = array_lines(file.text, "task") if is_json else _table_lines(file.text)
    if data.get("format", FORMAT) != FORMAT:
        at = _key_place(file, "format")
        raise BadInput(f"{at}: the format is {data['format']!r}, and not {FORMAT}", hint=_HINT)
    try:
        plan = typed.convert(data, Plan)
    except msgspec.ValidationError as error:
        raise BadInput(_placed(file, str(error), lines), hint=_HINT) from None
    tasks = tuple(
        replace(task, place=place_of(file.name, lines, number))
        for number, task in enumerate(plan.tasks)
    )
    return replace(plan, title=plan.title or spec.title, tasks=tasks)


def place_of(name: str, lines: list[int], number: int) -> str:
    """`tasks.json:12`: where the entry of this number stands."""
    return f"{name}:{lines[number]}" if number < len(lines) else name


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


def _placed(file: SpecFile, message: str, lines: list[int]) -> str:
    """An error of conversion with the line of the task, or of the key, behind the file's name."""
    if entry := _ENTRY.search(message):
        return f"{place_of(file.name, lines, int(entry[1]))}: {message}"
    key = _FIELD.search(message)
    return f"{_key_place(file, key[1] or key[2]) if key else file.name}: {message}"


def _key_place(file: SpecFile, key: str) -> str:
    """`plan.toml:3`: the first line that begins with a key of the plan, or with
    that key's table.
    """
    begins = re.compile(rf'^[\s{{,\[]*"?{re.escape(key)}"?\s*[\].=:]')
    lines = enumerate(file.text.splitlines(), start=1)
    found = next((number for number, line in lines if begins.match(line)), None)
    return f"{file.name}:{found}" if found else file.name


def load_json(file: SpecFile) -> dict[str, Any]:
    """An object of JSON. Raises BadInput with the line."""
    try:
        data: object = json.loads(file.text)
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise BadInput(f"{file.name}:{error.lineno}: this is not JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{file.name}: it is nested too deeply") from None
    except ValueError as error:  # half a pair of surrogates, a number of thousands of digits
        raise BadInput(f"{file.name}: this is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadInput(f"{file.name}:1: this is JSON, but no object")
    return cast("dict[str, Any]", data)


def _load_toml(file: SpecFile) -> dict[str, Any]:
    if deep := _DEEP_KEY.search(file.text):
        line = file.text.count("\n", 0, deep.start()) + 1
        raise BadInput(f"{file.name}:{line}: it is nested too deeply")
    try:
        return tomllib.loads(file.text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else len(file.text.splitlines())
        raise BadInput(f"{file.name}:{line}: this is not TOML: {error}") from None


def _table_lines(text: str) -> list[int]:
    """The lines of the `[[task]]` headers; not of those inside a long string."""
    lines: list[int] = []
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not inside and _TABLE.match(line):
            lines.append(number)
        for quotes in _QUOTES.findall(line):
            if not inside:
                inside = quotes
            elif inside == quotes:
                inside = ""
    return lines
