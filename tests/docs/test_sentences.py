"""No comparison of a sentence decides what fleet does: what waits, waits for a typed value."""

import ast

import pytest

from tests.docs.test_house import FILES, SOURCE

#: Fields that hold text for people.
TEXTS = {"notes", "note", "why", "why_blocked", "behind", "reason", "close_reason"}
#: What a decision by text looks like.
METHODS = {
    "startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "find",
    "index", "count", "split", "rsplit", "match", "search", "fullmatch",
}  # fmt: skip
#: Where a note is read on purpose: once, for tasks of an earlier fleet and of bd clients.
READERS = {"schemas/noted_waits.py"}
#: Text that is cut to be shown, and words of other programs: the place, the line's text, and why.
ALLOWED = {
    ("control/landing/land.py", "known.why.partition(';')"): "shown without the way on",
    ("demo/run_demo.py", "task.close_reason.partition(' [run')"): "shown without the receipt",
    ("demo/run_hosts.py", "task.close_reason.partition(' [run')"): "shown without the receipt",
    ("demo/summary.py", "row.task.close_reason.partition(' [')"): "shown without the receipt",
    ("demo/summary.py", "end.cause in ending.why"): "the demo checks what it shows",
    ("forge/gitea.py", "word in answer.why.lower()"): "the words of Gitea",
    ("git/mirror/result_refs.py", "_NO_SUCH_REF in done.why"): "the words of git",
    ("tui/views/task_pages.py", "run.why.strip().partition('\\n')"): "shown on one line",
}


def comparisons(tree):
    """The places where the text of a field is compared or cut: line, and what stands there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and is_text(sides[-1]):
                yield node.lineno, ast.unparse(node)
            if any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops) and any(
                isinstance(side, ast.Constant | ast.JoinedStr) and not is_empty(side)
                for side in sides
            ):
                yield from (
                    (node.lineno, ast.unparse(node))
                    for side in sides
                    if is_text(side) and not is_code(side)
                )
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                if name in METHODS and is_text(value):
                    yield node.lineno, ast.unparse(node)
            case _:
                pass


def is_text(node):
    match node:
        case ast.Attribute(attr=name):
            return name in TEXTS
        case ast.Call(func=ast.Attribute(value=inner, attr="strip" | "rstrip" | "lower")):
            return is_text(inner)
    return False


def is_code(node):
    """`reason` of an outcome is a word of a closed set."""
    return isinstance(node, ast.Attribute) and node.attr == "reason"


def is_empty(node):
    return isinstance(node, ast.Constant) and node.value == ""


def test_no_comparison_of_a_sentence_decides():
    """Whoever improves a message must not change what fleet does."""
    found = []
    for path in FILES:
        place = path.relative_to(SOURCE).as_posix()
        if place not in READERS:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [(place, text) for _, text in comparisons(tree)]
    assert sorted(set(found) ^ set(ALLOWED)) == []


@pytest.mark.parametrize(
    "line",
    [
        "if note in task.notes: pass",
        "ending = task.notes.strip().endswith(words)",
        "own.why.startswith(beside)",
        "task.close_reason == 'done'",
        "if task.notes.rstrip() != f'{why} (again)': pass",
        "first = landing.why.partition(';')[0]",
    ],
)
def test_a_comparison_is_found(line):
    """However it is written."""
    assert list(comparisons(ast.parse(line)))
