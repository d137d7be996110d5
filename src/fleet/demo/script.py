"""The tasks of the demo: what each agent does, what goes wrong, and how each run has to end.

Values only. The simulated agents act by them, and the summary compares the runs with them.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

#: The two coders. A rate limit of one does not stop the other.
CODER, OTHER_CODER = "simulated", "simulated2"

#: How long the simulated rate limit lasts, and how many tokens the simulated context holds.
LIMIT_S = 4.0
CONTEXT = 20_000

#: The supervisor is killed while the first agent of this task is at work. However slow the machine
#: is, that agent goes on only once this file stands beside the project: its run was adopted.
KILLED_DURING = "manual"
CUE = "adopted"

QUESTION = "When a book is added twice: keep both, or refuse the second?"
ANSWER = "Refuse the second, and say so."


class ExpectedEnd(Struct, frozen=True):
    """How one run has to end: its settlement, and words of the reason."""

    settlement: Literal["Closed", "Released", "Blocked"]
    cause: str = ""


class DemoTask(Struct, frozen=True, kw_only=True):
    """One task of the demo."""

    key: str
    title: str
    priority: int
    #: How its agent behaves: a key of `simulated_agent.BEHAVIOURS`, given as the model.
    behaviour: str = "steady"
    coder: str = CODER
    #: Keys of the tasks that have to be closed first.
    needs: tuple[str, ...] = ()
    #: What the agent writes, by path in the project.
    files: Mapping[str, str]
    #: How its runs have to end, in order.
    ends: tuple[ExpectedEnd, ...] = (ExpectedEnd("Closed"),)
    #: Added while the others run, once a coder has reached its rate limit.
    late: bool = False


TASKS = (
    DemoTask(
        key="layout",
        title="Lay out the project",
        priority=0,
        files={
            "README.md": "# bookshelf\n\nWhich books do I have?\n",
            "bookshelf/__init__.py": '"""A list of books."""\n',
        },
    ),
    DemoTask(
        key="store",
        title="Keep the books in a file",
        priority=1,
        behaviour="fragile",
        needs=("layout",),
        files={
            "bookshelf/store.py": "from pathlib import Path\n\n\n"
            "def read(path: Path) -> list[str]:\n"
            "    return path.read_text().splitlines() if path.exists() else []\n\n\n"
            "def write(path: Path, books: list[str]) -> None:\n"
            '    path.write_text("\\n".join(books) + "\\n")\n'
        },
        ends=(ExpectedEnd("Released", "killed"), ExpectedEnd("Closed")),
    ),
    DemoTask(
        key="add",
        title="Add a book",
        priority=1,
        behaviour="curious",
        needs=("layout",),
        files={
            "bookshelf/add.py": "def add(books: list[str], book: str) -> list[str]:\n"
            "    if book in books:\n"
            '        raise ValueError(f"{book} is on the shelf already")\n'
            "    return [*books, book]\n"
        },
        ends=(ExpectedEnd("Blocked", "QUESTION"), ExpectedEnd("Closed")),
    ),
    DemoTask(
        key="manual",
        title="Write the manual",
        priority=2,
        behaviour="wordy",
        needs=("layout",),
        files={
            "docs/start.md": "# Getting started\n\nPut a book on the shelf.\n",
            "docs/reference.md": "# Reference\n\nEvery command, one by one.\n",
        },
        ends=(ExpectedEnd("Released", "context full"), ExpectedEnd("Closed")),
    ),
    DemoTask(
        key="export",
        title="Export to CSV",
        priority=1,
        behaviour="throttled",
        coder=OTHER_CODER,
        needs=("layout",),
        files={
            "bookshelf/export.py": "def as_csv(books: list[str]) -> str:\n"
            '    return "\\n".join(["title", *books])\n'
        },
        ends=(ExpectedEnd("Released", "rate limit"), ExpectedEnd("Closed")),
    ),
    DemoTask(
        key="import",
        title="Import from CSV",
        priority=1,
        coder=OTHER_CODER,
        files={
            "bookshelf/load.py": "def from_csv(text: str) -> list[str]:\n"
            "    return text.splitlines()[1:]\n"
        },
        late=True,
    ),
    DemoTask(
        key="faster",
        title="Make it faster",
        priority=3,
        behaviour="forgetful",
        needs=("store",),
        files={},
        ends=(ExpectedEnd("Released", "closing"), ExpectedEnd("Blocked", "closing")),
    ),
    DemoTask(
        key="release",
        title="Release 1.0",
        priority=2,
        needs=("store", "add", "manual", "export"),
        files={"CHANGELOG.md": "# Changes\n\n## 1.0\n\nThe first release.\n"},
    ),
)


def find_task(title: str) -> DemoTask:
    """The demo task with this title."""
    return next(task for task in TASKS if task.title == title)
