"""The tasks of the demo of hosts: what each needs of a host, and what becomes of
the task. Values.
"""

from fleet.demo.script import Cue, DemoTask, ExpectedEnd

#: What one of the hosts has, and what none has.
LABEL, NO_LABEL = "gpu", "tpu"
#: The task whose host is cut off while its agent is at work.
CUT_OFF = "catalogue"
#: The task that no host fits.
NOWHERE = "recommend"

HOST_TASKS = (
    DemoTask(
        key=CUT_OFF,
        title="Print the catalogue",
        priority=0,
        files={"bookshelf/catalogue.py": "def catalogue(books: list[str]) -> str:\n"
               '    return "\\n".join(sorted(books))\n'},
        ends=(ExpectedEnd("Released"), ExpectedEnd("Verified")),
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
        ends=(ExpectedEnd("Blocked", "QUESTION"), ExpectedEnd("Verified")),
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
