"""From check boxes to planned tasks: keys, titles, groups, order, files and checks. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fleet.plan.neutral_plan import PlannedTask
from fleet.plan.readers.markdown_boxes import CheckBox

#: A longer first line becomes the body, and its beginning the title.
_LONGEST_TITLE = 160
_NUMBER = re.compile(
    r"(?:\*\*|`)?([A-Z]{1,4}-?\d+|\d+(?:\.\d+)*)(?:\*\*|`)?[.:)]?(?:\*\*|`)?\s+(?=\S)"
)
_PATH = re.compile(r"(?<![\w/@.:-])((?:[\w.@-]+/)+[\w.@-]*\w|[\w-]+\.[a-z]{1,4})(?![\w/(])")
_CODE = re.compile(r"`([^`\n]+)`")
#: `Verify: `cmd``, `Validation: run `cmd``: words that say that a command follows.
_CHECK = re.compile(
    r"(?<![a-z])(?:verify|verification|validate|validation|check|checked|verified|test)(?![a-z])"
    r"[*_]*(?: (?:by|with|using|that))?(?: running)?[*_:\s]*(?:run(?:ning)?:?\s+)?"
    r"((?:`[^`\n]+`(?:\s*(?:,|and|;|&&)\s*)?)+)",
    re.IGNORECASE,
)
_PROGRAMS = frozenset(
    ("bash", "bazel", "bun", "bundle", "cargo", "cmake", "composer", "ctest", "deno", "dotnet",
     "go", "gradle", "gradlew", "just", "make", "mix", "mvn", "mypy", "ninja", "node", "npm", "npx",
     "nx", "openspec", "php", "pnpm", "poetry", "pre-commit", "pytest", "python", "python3", "rake",
     "rspec", "ruff", "sbt", "sh", "swift", "task", "terraform", "tox", "tsc", "turbo", "uv",
     "vitest", "yarn", "zig")
)  # fmt: skip
_DEPENDS = re.compile(
    r"\b(?:depends on|blocked by|requires|after)\s*:?\s*"
    r"((?:#?(?:[A-Z]{1,4}-?\d+|\d+(?:\.\d+)*)(?:\s*(?:,|and|&|\+)\s*)?)+)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"#?([A-Za-z]{1,4}-?\d+|\d+(?:\.\d+)*)")

#: What one format knows more of a box than every list does.
BoxContext = Callable[[CheckBox], Sequence[str]]


class Ordered(Struct, frozen=True, kw_only=True):
    """A task and the task's place in an order: tasks of one stage that are parallel
    run together.
    """

    key: str
    stage: object
    parallel: bool = False
    optional: bool = False


def tasks_of(
    boxes: Sequence[CheckBox], name: str, *, context: BoxContext = lambda _: ()
) -> list[PlannedTask]:
    """The tasks of boxes, in groups, without their order."""
    keys: list[str] = []
    texts: list[str] = []
    numbered = {key for box in boxes if (key := split_key(box.text)[0])}
    for box in boxes:
        key, rest = split_key(box.text)
        texts.append(rest)
        keys.append(key or _named_key(rest, {*keys, *numbered}))
    tasks = [
        PlannedTask(
            key=key,
            title=title_of(text),
            body=body_of(box, text, name, context=context(box)) if text else "",
            files=files_in(f"{text}\n{box.notes}"),
            verify=checks_in(f"{text}\n{box.notes}"),
            labels=("optional",) if box.optional else (),
            priority=4 if box.optional else 2,
            done=box.done,
            optional=box.optional,
            place=f"{name}:{box.line}",
        )
        for box, key, text in zip(boxes, keys, texts, strict=True)
    ]
    parents = _with_groups(tasks, boxes)
    return [replace(task, parent=parents.get(task.key, "")) for task in tasks]


def split_key(text: str) -> tuple[str, str]:
    """`1.2 Do it` as key and rest; no key if the text begins with none."""
    found = _NUMBER.match(text)
    return (found[1], text[found.end() :].strip()) if found else ("", text)


def _named_key(text: str, taken: Iterable[str]) -> str:
    """A key made of a task's words, for a task that has no number; other than those taken."""
    slug = re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:40].strip("-")
    known, number, key = set(taken), 1, slug
    while key and key in known:
        number += 1
        key = f"{slug}-{number}"
    return key


def in_order(tasks: Sequence[Ordered]) -> dict[str, tuple[str, ...]]:
    """What each task waits for: the tasks before, or before the parallel ones around."""
    waves: list[list[Ordered]] = []
    for task in tasks:
        last = waves[-1][-1] if waves else None
        joins = last is not None and last.parallel and task.parallel and last.stage == task.stage
        if joins:
            waves[-1].append(task)
        else:
            waves.append([task])
    after: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for wave in waves:
        after |= {task.key: before for task in wave}
        before = tuple(task.key for task in wave if not task.optional) or before
    return after


def named_dependencies(text: str) -> tuple[str, ...]:
    """Keys in words like `(depends on T012, T013)`."""
    return tuple(
        dict.fromkeys(key for found in _DEPENDS.finditer(text) for key in _NAMED.findall(found[1]))
    )


def files_in(text: str) -> tuple[str, ...]:
    """Paths that a text names: words with a slash, and file names in code."""
    code = " ".join(_CODE.findall(text))
    plain = [found[1] for found in _PATH.finditer(text) if "/" in found[1]]
    coded = [found[1] for found in _PATH.finditer(code)]
    kept = (path for path in (*coded, *plain) if "." in path.rpartition("/")[2])
    return tuple(dict.fromkeys(path for path in kept if not path.startswith("..")))


def checks_in(text: str) -> tuple[str, ...]:
    """Commands that a text says to verify with. Only what begins with a known program."""
    spans = [code for found in _CHECK.finditer(text) for code in _CODE.findall(found[1])]
    commands = [code.removeprefix("$").strip() for code in spans]
    return tuple(dict.fromkeys(each for each in commands if _is_command(each)))


def _is_command(text: str) -> bool:
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return first in _PROGRAMS or first.startswith(("./", "bin/", "scripts/"))


def title_of(text: str) -> str:
    """A title of one line: the text, or the first sentence, or the beginning."""
    line = re.sub(r"\s+", " ", text.replace("**", "")).strip()
    if len(line) <= _LONGEST_TITLE:
        return line
    sentence = re.match(r".{20,150}?[.;:](?=\s)", line)
    if sentence:
        return sentence[0].rstrip(".;:")
    return f"{line[: _LONGEST_TITLE - 1].rpartition(' ')[0]}…"


def body_of(box: CheckBox, text: str, source: str, *, context: Sequence[str] = ()) -> str:
    """What the agent is told: the box's whole text, what stands below, and the origin."""
    around = " / ".join(section.title for section in box.sections[-2:])
    origin = f"From {source}" + (f", “{around}”." if around else ".")
    return "\n\n".join(part for part in (text, box.notes, *context, origin) if part.strip())


def _with_groups(tasks: Sequence[PlannedTask], boxes: Sequence[CheckBox]) -> dict[str, str]:
    """The parent of each task that has one: by number (`2` of `2.1`), or by indent."""
    keys = {task.key for task in tasks}
    parents: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for task, box in zip(tasks, boxes, strict=True):
        above = [each for each in above if each[0] < box.indent]
        numbered = task.key.rpartition(".")[0]
        if numbered in keys and re.fullmatch(r"\d+(\.\d+)*", task.key):
            parents[task.key] = numbered
        elif above and above[-1][1] != task.key:
            parents[task.key] = above[-1][1]
        above.append((box.indent, task.key))
    return parents
