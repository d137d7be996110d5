"""The walks of the decisions on rooms: the lists bear out the counts, and the tree the lists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "docs/decisions/017-rooms-that-can-be-guessed.md"
SIZE = ROOT / "docs/decisions/032-the-size-of-the-house.md"
COUNTS = r"(\d+ / \d+) \| "
ROW = re.compile(r"^\| (\([a-d]\) .+?) \| (\d+ / \d+) \| \d+ \| (\d+ / \d+) \|$", re.MULTILINE)
NOW_ROW = re.compile(rf"^\| (\([a-d]\) .+?) \| {COUNTS * 5}".rstrip(" ") + "$", re.MULTILINE)
LANDING_ROW = re.compile(r"^\| (\(e\) .+?) \| (\d+ / \d+) \| (\d+ / \d+) \|$", re.MULTILINE)
STEP = re.compile(r"(→|⇒) ([\w/]+)")


def walks():
    """The counts of the table, each with its list."""
    found = []
    page = ROOMS.read_text(encoding="utf-8")
    for name, before, after in ROW.findall(page):
        part = page.partition(f"\n{name}, before:\n")[2]
        old, _, new, *_ = part.split("```\n")[1:5]
        found.append(pytest.param(before, old, id=f"{name}, before"))
        found.append(pytest.param(after, new, id=f"{name}, after"))
    page = SIZE.read_text(encoding="utf-8")
    for name, before, _ in LANDING_ROW.findall(page):
        found.append(pytest.param(before, listed(page, f"{name}, before"), id=f"{name}, before"))
    return found + [pytest.param(count, text, id=f"{name}, now") for name, count, text in present()]


def present():
    """The walks through the tree as it is: the name, the counts and the list of each."""
    page = SIZE.read_text(encoding="utf-8")
    for name, *counts in NOW_ROW.findall(page):
        yield name, counts[3], listed(page, f"{name}, now")
    for name, _, count in LANDING_ROW.findall(page):
        yield name, count, listed(page, f"{name}, now")


def listed(page, title):
    """The list below a title."""
    return page.partition(f"\n{title}:\n")[2].split("```\n")[1]


@pytest.mark.parametrize(("count", "text"), walks())
def test_a_walk_has_as_many_hops_as_the_table_says(count, text):
    """Each module is opened once, and a double arrow leads into another room."""
    opened: list[str] = []
    changes = 0
    for part in " ".join(text.split()).split("; "):
        room = part.split()[0].split("/")[0]
        for arrow, module in STEP.findall(part):
            assert (arrow == "⇒") == (module.split("/")[0] != room), part
            changes += arrow == "⇒"
            opened.append(module)
    assert len(opened) == len(set(opened))
    assert f"{len(opened)} / {changes}" == count


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, _, text in present()])
def test_a_walk_of_now_leads_through_modules_that_are_there(text):
    """A module that was moved or merged is counted again."""
    source = ROOT / "src/fleet"
    opened = [module for _, module in STEP.findall(text)]
    places = [(source / f"{module}.py", source / module / "__init__.py") for module in opened]
    assert [pair[0].name for pair in places if not any(path.exists() for path in pair)] == []


def test_every_row_of_the_tables_has_its_lists():
    """No row is passed over for its form."""
    assert len(walks()) == 17
