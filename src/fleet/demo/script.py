"""The tasks of the demo, and of the demo of hosts: what each agent does, what goes wrong, and how
each run has to end.

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

#: The supervisor is killed while the first agent of this task is at work.
KILLED_DURING = "manual"

#: What one of the hosts has, and what none has.
LABEL, NO_LABEL = "gpu", "tpu"
#: In the demo of hosts: the task whose host is cut off while its agent is at work.
CUT_OFF = "catalogue"
#: In the demo of hosts: the task that no host fits.
NOWHERE = "recommend"

QUESTION = "When a book is added twice: keep both, or refuse the second?"
ANSWER = "Refuse the second, and say so."


#: The project as it is before the first task. `CHECK` is its verify command: the modules have to be
#: Python, and no file may hold the markers of a merge.
CHECK = "check.py"
PROJECT: Mapping[str, str] = {
    # What a person's own git settings ignore everywhere counts here.
    ".gitignore": "!*\n",
    "README.md": "# bookshelf\n\nWhich books do I have?\n\nCommands: none yet\n",
    "bookshelf/__init__.py": '"""A list of books."""\n',
    CHECK: "import ast, pathlib\n\n"
    'for path in pathlib.Path("bookshelf").glob("*.py"):\n'
    "    ast.parse(path.read_text(), str(path))\n"
    'assert "<<<<<<<" not in pathlib.Path("README.md").read_text()\n',
}


def readme_with(command: str) -> str:
    """The README of an agent that knows only one command."""
    return PROJECT["README.md"].replace("none yet", command)


class ExpectedEnd(Struct, frozen=True):
    """How one run has to end: the settlement, and words of the reason.

    `To land`: the claim holds, and its work is to land.
    """

    settlement: Literal["To land", "Released", "Blocked"]
    cause: str = ""


class Cue(Struct, frozen=True):
    """What an agent waits for, however slow the machine, before going on: a task of this key whose
    run was adopted, whose agent is at work, that has landed, or that has moved to another host.
    """

    key: str
    is_: Literal["adopted", "at work", "landed", "moved"]


class DemoTask(Struct, frozen=True, kw_only=True):
    """One task of the demo."""

    key: str
    title: str
    priority: int
    #: How its agent behaves: a key of `simulated_agent.BEHAVIOURS`, given as the model.
    behaviour: str = "steady"
    coder: str = CODER
    #: More words for `fleet bd create`.
    flags: tuple[str, ...] = ()
    #: Keys of the tasks that have to be closed first.
    needs: tuple[str, ...] = ()
    #: What the agent writes, by path in the project.
    files: Mapping[str, str]
    #: How its runs have to end, in order.
    ends: tuple[ExpectedEnd, ...] = (ExpectedEnd("To land"),)
    cue: Cue | None = None
    #: The work does not land at first, and goes back to the agent.
    goes_back: bool = False
    #: Added while the others run, once a coder has reached its rate limit.
    late: bool = False


TASKS = (
    DemoTask(
        key="lend",
        title="Lend a book",
        priority=0,
        behaviour="overtaken",
        files={
            "bookshelf/lend.py": "def lend(books: list[str], book: str) -> list[str]:\n"
            "    return [each for each in books if each != book]\n",
            "README.md": readme_with("lend"),
        },
        ends=(ExpectedEnd("To land"), ExpectedEnd("To land")),
        cue=Cue("find", "landed"),
        goes_back=True,
    ),
    DemoTask(
        key="find",
        title="Find a book",
        priority=0,
        files={
            "bookshelf/find.py": "def find(books: list[str], word: str) -> list[str]:\n"
            "    return [each for each in books if word in each]\n",
            "README.md": readme_with("find"),
        },
        cue=Cue("lend", "at work"),
    ),
    DemoTask(
        key="store",
        title="Keep the books in a file",
        priority=1,
        behaviour="fragile",
        files={
            "bookshelf/store.py": "from pathlib import Path\n\n\n"
            "def read(path: Path) -> list[str]:\n"
            "    return path.read_text().splitlines() if path.exists() else []\n\n\n"
            "def write(path: Path, books: list[str]) -> None:\n"
            '    path.write_text("\\n".join(books) + "\\n")\n'
        },
        ends=(ExpectedEnd("Released", "killed"), ExpectedEnd("To land")),
    ),
    DemoTask(
        key="add",
        title="Add a book",
        priority=1,
        behaviour="curious",
        files={
            "bookshelf/add.py": "def add(books: list[str], book: str) -> list[str]:\n"
            "    if book in books:\n"
            '        raise ValueError(f"{book} is on the shelf already")\n'
            "    return [*books, book]\n"
        },
        ends=(ExpectedEnd("Blocked", "QUESTION"), ExpectedEnd("To land")),
    ),
    DemoTask(
        key="manual",
        title="Write the manual",
        priority=2,
        behaviour="wordy",
        files={
            "docs/start.md": "# Getting started\n\nPut a book on the shelf.\n",
            "docs/reference.md": "# Reference\n\nEvery command, one by one.\n",
        },
        ends=(ExpectedEnd("Released", "context full"), ExpectedEnd("To land")),
        cue=Cue(KILLED_DURING, "adopted"),
    ),
    DemoTask(
        key="export",
        title="Export to CSV",
        priority=1,
        behaviour="throttled",
        coder=OTHER_CODER,
        files={
            "bookshelf/export.py": "def as_csv(books: list[str]) -> str:\n"
            '    return "\\n".join(["title", *books])\n'
        },
        ends=(ExpectedEnd("Released", "rate limit"), ExpectedEnd("To land")),
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
        behaviour="releasing",
        needs=("store", "add", "manual", "export", "find", "lend"),
        files={"CHANGELOG.md": "# Changes\n\n## 1.0\n\nThe first release.\n"},
    ),
)

#: The tasks of the demo of hosts: what each needs of a host, and what becomes of the task.
HOST_TASKS = (
    DemoTask(
        key=CUT_OFF,
        title="Print the catalogue",
        priority=0,
        files={"bookshelf/catalogue.py": "def catalogue(books: list[str]) -> str:\n"
               '    return "\\n".join(sorted(books))\n'},
        ends=(ExpectedEnd("Released"), ExpectedEnd("To land")),
        cue=Cue(CUT_OFF, "moved"),
    ),
    DemoTask(
        key="covers",
        title="Draw the covers",
        priority=1,
        flags=("--needs", f"host:{LABEL}"),
        files={"bookshelf/covers.py": "def cover(book: str) -> str:\n    return book.upper()\n"},
    ),
    DemoTask(
        key="twice",
        title="Refuse a book twice",
        priority=1,
        behaviour="curious",
        files={"bookshelf/twice.py": "def is_new(books: list[str], book: str) -> bool:\n"
               "    return book not in books\n"},
        ends=(ExpectedEnd("Blocked", "QUESTION"), ExpectedEnd("To land")),
    ),
    DemoTask(
        key="count",
        title="Count the books",
        priority=1,
        files={"bookshelf/count.py": "def count(books: list[str]) -> int:\n"
               "    return len(books)\n"},
    ),
    DemoTask(
        key="shelves",
        title="Number the shelves",
        priority=2,
        files={"bookshelf/shelves.py": "def shelf(number: int) -> str:\n"
               '    return f"shelf {number}"\n'},
    ),
    DemoTask(
        key="authors",
        title="Know the authors",
        priority=2,
        files={"bookshelf/authors.py": "def author(book: str) -> str:\n"
               '    return book.partition(",")[0]\n'},
    ),
    DemoTask(
        key=NOWHERE,
        title="Recommend a book",
        priority=3,
        flags=("--needs", f"host:{NO_LABEL}"),
        files={},
        ends=(),
    ),
)  # fmt: skip
