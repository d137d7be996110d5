"""The play: which tasks there are, who works on each, what goes wrong, and how it has to end.

Values only. The agents take their lines from here, and the end is compared with it.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

#: The two coders. A limit of one leaves the other alone.
CODER, OTHER_CODER = "simulated", "simulated2"

#: How an agent behaves; it goes by the name of its model.
Manner = Literal["steady", "fragile", "curious", "throttled", "wordy", "forgetful"]

#: How long the simulated limit lasts, and how much the simulated model's context holds.
LIMIT_S = 4.0
CONTEXT = 20_000

#: While this scene's first agent is at work, somebody kills the supervisor.
KILLED_DURING = "manual"

QUESTION = "When a book is added twice: keep both, or refuse the second?"
ANSWER = "Refuse the second, and say so."


class Turn(Struct, frozen=True):
    """How a run has to end: what became of the task, and a word of the reason."""

    settlement: Literal["Closed", "Released", "Blocked"]
    cause: str = ""


class Scene(Struct, frozen=True, kw_only=True):
    """One task of the play."""

    key: str
    title: str
    priority: int
    manner: Manner = "steady"
    coder: str = CODER
    #: Keys of the scenes that come before it.
    needs: tuple[str, ...] = ()
    #: What the agent writes, by path in the project.
    files: Mapping[str, str]
    #: How its runs have to end, in order.
    turns: tuple[Turn, ...] = (Turn("Closed"),)
    #: Added while the others run, once there is a limit to wait for.
    late: bool = False


SCENES = (
    Scene(
        key="layout",
        title="Lay out the project",
        priority=0,
        files={
            "README.md": "# bookshelf\n\nWhich books do I have?\n",
            "bookshelf/__init__.py": '"""A list of books."""\n',
        },
    ),
    Scene(
        key="store",
        title="Keep the books in a file",
        priority=1,
        manner="fragile",
        needs=("layout",),
        files={
            "bookshelf/store.py": "from pathlib import Path\n\n\n"
            "def read(path: Path) -> list[str]:\n"
            "    return path.read_text().splitlines() if path.exists() else []\n\n\n"
            "def write(path: Path, books: list[str]) -> None:\n"
            '    path.write_text("\\n".join(books) + "\\n")\n'
        },
        turns=(Turn("Released", "killed"), Turn("Closed")),
    ),
    Scene(
        key="add",
        title="Add a book",
        priority=1,
        manner="curious",
        needs=("layout",),
        files={
            "bookshelf/add.py": "def add(books: list[str], book: str) -> list[str]:\n"
            "    if book in books:\n"
            '        raise ValueError(f"{book} is on the shelf already")\n'
            "    return [*books, book]\n"
        },
        turns=(Turn("Blocked", "QUESTION"), Turn("Closed")),
    ),
    Scene(
        key="manual",
        title="Write the manual",
        priority=2,
        manner="wordy",
        needs=("layout",),
        files={
            "docs/start.md": "# Getting started\n\nPut a book on the shelf.\n",
            "docs/reference.md": "# Reference\n\nEvery command, one by one.\n",
        },
        turns=(Turn("Released", "context full"), Turn("Closed")),
    ),
    Scene(
        key="export",
        title="Export to CSV",
        priority=1,
        manner="throttled",
        coder=OTHER_CODER,
        needs=("layout",),
        files={
            "bookshelf/export.py": "def as_csv(books: list[str]) -> str:\n"
            '    return "\\n".join(["title", *books])\n'
        },
        turns=(Turn("Released", "rate limit"), Turn("Closed")),
    ),
    Scene(
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
    Scene(
        key="faster",
        title="Make it faster",
        priority=3,
        manner="forgetful",
        needs=("store",),
        files={},
        turns=(Turn("Released", "without closing"), Turn("Blocked", "without closing")),
    ),
    Scene(
        key="release",
        title="Release 1.0",
        priority=2,
        needs=("store", "add", "manual", "export"),
        files={"CHANGELOG.md": "# Changes\n\n## 1.0\n\nThe first release.\n"},
    ),
)


def scene_of(title: str) -> Scene:
    """The scene that a task's title names."""
    return next(scene for scene in SCENES if scene.title == title)
