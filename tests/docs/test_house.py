"""Names lead to one class, classes stay small, and the pages list the rooms."""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/fleet"
FILES = sorted(SOURCE.rglob("*.py"))
BUILT_IN = {"dict", "frozenset", "list", "set", "tuple", "type"}
ATTRIBUTES = 15

#: Classes that are as wide as what they stand for, which is not fleet's to cut.
RECORDS = {
    "Change": "the flags of bd update",
    "CoderRecord": "a row of fleet stats --json",
    "Config": "the keys and tables of runtime.toml",
    "Draft": "the flags of bd create",
    "Ending": "outcome.json",
    "Facts": "what a settlement depends on, one field a fact",
    "Event": "one normalised line of any CLI's stream",
    "EventRule": "the keys of an [[event]] in a coder's TOML file",
    "FleetStatus": "fleet status --json",
    "KeyValues": "the keys of runtime.toml",
    "Landing": "landing.json",
    "PlanView": "fleet plan show --json",
    "PlannedTask": "a [[task]] of a plan",
    "Policy": "what a run is held to, one field a setting",
    "Progress": "progress.json",
    "Ready": "what the parts of a start found for a run, one field a part",
    "Receipt": "receipt.json",
    "RunSpec": "run.json",
    "RunTotals": "what a stream told of a run, one field a figure",
    "Settings": "task.json",
    "TaskRow": "a row of *now*: docs/api.md",
    "WholeTask": "all that belongs to one task: docs/api.md",
    "Task": "an issue as beads has it",
}


class Class(NamedTuple):
    """What a class is called and has, without the tree that says so."""

    name: str
    bases: list[str]
    attributes: set[str]


@cache
def names_of_types():
    """Each class of the package and each name that a module gives to a type, with its file."""
    classes, named = [], []
    for path in FILES:
        tree, place = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(SOURCE)
        classes += [(found, place.as_posix()) for found in classes_of(tree)]
        named += [(name, place.as_posix()) for name in aliases(tree)]
    return classes, named


def classes_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
            yield Class(node.name, bases, attributes(node))


def aliases(tree):
    """The names that a module gives to types: unions, literals, signatures, new types; a variable
    of one letter stands for any type and names none.
    """
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                if not name.isupper() and is_type(value):
                    yield name
            case ast.AnnAssign(target=ast.Name(name), annotation=annotation):
                if ast.unparse(annotation).endswith("TypeAlias"):
                    yield name
            case _ if type(node).__name__ == "TypeAlias":  # `type X = …`, from Python 3.12 on
                yield node.name.id
            case _:
                pass


def is_type(value):
    match value:
        case ast.BinOp(op=ast.BitOr()):
            return True
        case ast.Subscript(value=base):
            return ast.unparse(base)[0].isupper() or ast.unparse(base) in BUILT_IN
        case ast.Call(func=made):
            return ast.unparse(made).rpartition(".")[2] in {"NewType", "NamedTuple", "TypeVar"}
    return False


def attributes(node):
    """Fields of a Struct, and what `__init__` sets on `self`."""
    names = {
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and "ClassVar" not in ast.unparse(field.annotation)
    }
    inits = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    for part in (part for init in inits if init.name == "__init__" for part in ast.walk(init)):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            names.add(part.attr)
    return names


def test_no_two_classes_or_names_of_types_are_one_name():
    """One word, one thing."""
    found = defaultdict(list)
    classes, named = names_of_types()
    for name, place in [*((each.name, place) for each, place in classes), *named]:
        found[name].append(place)
    twice = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert twice == {}


def widths(found):
    """How many attributes each class has, with those of its bases in the package."""
    known = {each.name: each for each in found}

    def names(each):
        bases = [known[base] for base in each.bases if base in known]
        return each.attributes.union(*(names(base) for base in bases if base is not each))

    return {name: len(names(each)) for name, each in known.items()}


def test_no_class_has_more_than_fifteen_attributes():
    """Records and command lines are as wide as they are; state is not, inherited or own."""
    classes, _ = names_of_types()
    where = {each.name: place for each, place in classes}
    counted = widths(each for each, _ in classes)
    wide = {name: f"{where[name]}: {size}" for name, size in counted.items() if size > ATTRIBUTES}
    assert {name: where for name, where in wide.items() if name not in RECORDS} == {}
    assert RECORDS.keys() - wide.keys() == set(), "these are narrow by now: take them off the list"


def test_names_of_types_are_found():
    """However they are given; constants, calls and values are none."""
    source = """
Union = B | None
Word = Literal["c"]
Call = Callable[[int], str]
Pair = tuple[int, ...]
New = NewType("New", int)
Said: TypeAlias = int
Any = typing.TypeVar("Any")
T = TypeVar("T")
FLAGS = os.A | os.B
value = rows[0]
made = Class(1)
"""
    assert list(aliases(ast.parse(source))) == [
        "Union",
        "Word",
        "Call",
        "Pair",
        "New",
        "Said",
        "Any",
    ]


@pytest.mark.parametrize(
    ("source", "width"),
    [
        ("class A(Struct):\n    a: int\n    b: ClassVar[int] = 1", 1),
        ("class A:\n    def __init__(self):\n        self.a, self.b = 1, 2\n        self.a = 3", 2),
        ("class A:\n    def other(self):\n        self.a = 1", 0),
        ("class A:\n    a: int\nclass B(A):\n    b: int\nclass C(B[int], Other):\n    a: int", 2),
    ],
)
def test_attributes_are_counted(source, width):
    """Fields and assignments in `__init__`, each once, with those of a base."""
    *_, last = classes = list(classes_of(ast.parse(source)))
    assert widths(classes)[last.name] == width


def test_the_pages_list_the_rooms_in_the_order_of_the_contract():
    """CONTRIBUTING and the map of the packages have the layers of pyproject.toml, highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    named = [name for layer in layers for name in re.findall(r"fleet\.(\w+)", layer)]
    rooms = [name for name in named if any(SOURCE.glob(f"{name}*")) and name != "__main__"]
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chain = contributing.partition("```\ncli →")[2].partition("```")[0]
    assert ["cli", *re.findall(r"\w+", chain)] == rooms
    page = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
    table = page.partition("## Rooms")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)(?:/|\.py)` \|", table, re.MULTILINE) == rooms


def test_the_contract_of_surfaces_names_every_room_below_control():
    """A new room is closed to surfaces until a reason to open it is written down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first, *_, last = settings["tool"]["importlinter"]["contracts"]
    named = [re.findall(r"fleet\.(\w+)", layer) for layer in first["layers"]]
    below = named[next(at for at, names in enumerate(named) if "control" in names) :]
    closed = {name.split(".")[1] for name in last["forbidden_modules"]}
    rooms = {name for names in below for name in names} - {"control"}
    assert rooms - closed == {"schemas", "errors"}


def test_the_map_names_every_directory_of_a_room():
    """A reader of the map knows each directory that he finds in a room."""
    page = (ROOT / "docs/where-to-look.md").read_text(encoding="utf-8")
    table = page.partition("## Directories of rooms")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", table, re.MULTILINE))
    for room in {path.parents[1].name for path in SOURCE.glob("*/*/__init__.py")}:
        inside = {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")}
        assert inside - set(re.findall(r"`(\w+)/`", listed.get(room, ""))) == set(), room
