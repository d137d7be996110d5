"""The walks of the decision on rooms: the lists bear out the counts of the table."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/decisions/017-rooms-that-can-be-guessed.md"
ROW = re.compile(r"^\| (\([a-d]\) .+?) \| (\d+ / \d+) \| \d+ \| (\d+ / \d+) \|$", re.MULTILINE)
STEP = re.compile(r"(→|⇒) ([\w/]+)")


def walks():
    """The counts of the table, each with its list."""
    found = []
    page = PAGE.read_text(encoding="utf-8")
    for name, before, after in ROW.findall(page):
        part = page.partition(f"\n{name}, before:\n")[2]
        old, _, new, *_ = part.split("```\n")[1:5]
        found.append(pytest.param(before, old, id=f"{name}, before"))
        found.append(pytest.param(after, new, id=f"{name}, after"))
    return found


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


def test_every_row_of_the_table_has_its_lists():
    """No row is passed over for its form."""
    assert len(walks()) == 10
