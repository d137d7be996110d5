"""Pages for an operator's agent: none is too large, and all of them together are the whole."""

import json

import msgspec
import pytest

from fleet.errors import BadInput, NotFound
from fleet.mcp.operator_pages import PAGE, READ, page_of
from fleet.queue.protocol import Draft


def whole(fleet, name, **given):
    """All pages of an answer, one after the other."""
    start, pages = 0, []
    while start is not None:
        page = page_of(fleet, name, {**given, "from": start})
        assert len(msgspec.json.encode(page)) <= 2 * PAGE  # quotes and line ends are escaped
        pages.append(page)
        start = page.next
    return pages


def test_many_tasks_come_in_pages(fleet):
    """Each task stands on exactly one of them."""
    ids = [fleet.queue.add(Draft(title="x" * 400)).id for _ in range(120)]
    pages = whole(fleet, "list")
    assert len(pages) > 2
    assert sorted(row["id"] for page in pages for row in page.rows) == sorted(ids)
    assert pages[0].total == 120


def test_one_task_that_is_longer_than_a_page_comes_in_pages(fleet):
    """And is the task again once they are put together."""
    words = "Zeile mit Ümlauten\n" * 4000
    task = fleet.queue.add(Draft(title="long", description=words))
    text = "".join(page.text for page in whole(fleet, "show", id=task.id))
    assert json.loads(text)["task"]["description"] == words


def test_why_names_the_act_that_would_change_it(fleet):
    """For a task that waits for a supervisor, and for one that is closed."""
    task = fleet.queue.add(Draft(title="a"))
    assert "fleet run" in page_of(fleet, "why", {"id": task.id}).text
    fleet.queue.close_task(task, by="ada", reason="no need")
    assert page_of(fleet, "why", {"id": task.id}).text.endswith("done: no need")


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("show", {}, BadInput),
        ("show", {"id": 17}, BadInput),
        ("show", {"id": "fleet-none"}, NotFound),
        ("list", {"group": "odd"}, BadInput),
        ("list", {"from": -1}, BadInput),
        ("list", {"from": "x"}, BadInput),
        ("usage", {"by": "moon"}, BadInput),
    ],
)
def test_bad_arguments_are_told(fleet, name, given, error):
    """With what is there instead, where there is something."""
    with pytest.raises(error):
        page_of(fleet, name, given)


def test_every_reading_tool_answers_in_an_empty_home(fleet):
    """Those that need a task are told so."""
    for name, tool in READ.items():
        if not tool.required:
            assert page_of(fleet, name, {}).next is None
