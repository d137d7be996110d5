"""The pages lead where they say: to headings, to tests, to modules."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Pages of an archive tell of an earlier tree.
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in ALL if page.parent.name != "archive"]


def anchors(page):
    """The fragments that a forge makes of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_heading_finds_it(page):
    """A reader lands at the section, not at the top of a long page."""
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / name if name else page, fragment) for name, fragment in links]
    assert [fragment for target, fragment in targets if fragment not in anchors(target)] == []


@pytest.mark.parametrize("page", ["invariants.md", "security.md"])
def test_every_promise_names_a_test_that_exists(page):
    """Rename the test on the page too, or say which other test holds the promise."""
    text = (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
    defined = {name for text in sources for name in re.findall(r"def (test_\w+)", text)}
    assert sorted(named - defined) == []
    files = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert sorted(file for file in files if not (ROOT / file).exists()) == []


def test_every_line_of_what_agents_cannot_do_names_its_test():
    """A promise of security that nothing shows is a wish."""
    text = (DOCS / "security.md").read_text(encoding="utf-8")
    part = text.partition("## What each level stops")[2].partition("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 40
    shown = re.compile(r"`(escapes\.py|test_\w+)`[^|]*\|$")
    assert [row for row in rows if "shown by" not in row and not shown.search(row)] == []


@pytest.mark.parametrize("page", ["how-it-works.md", "where-to-look.md", "glossary.md"])
def test_every_module_that_a_page_names_exists(page):
    """A newcomer who follows the map finds the room."""
    text = (DOCS / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`([\w/]+(?:\.py|\.sql|/))`", text))
    assert len(paths) > 10
    assert sorted(path for path in paths if not any((ROOT / "src/fleet").rglob(path))) == []


@pytest.mark.parametrize("page", ["how-it-works.md", "where-to-look.md"])
def test_every_function_that_the_map_names_is_in_its_module(page):
    """The map leads to a line, not only to a file: "`claim` in `queue.sql`" is true."""
    named = re.findall(r"`(\w+)` in `([\w/]+\.(?:py|sql))`", (DOCS / page).read_text("utf-8"))
    assert len(named) > 10
    assert [(name, path) for name, path in named if not defines(path, name)] == []


def defines(path, name):
    """The source file, below `src/fleet`, defines a function, class or statement of the name."""
    text = (ROOT / "src/fleet" / path).read_text(encoding="utf-8")
    return re.search(rf"^\s*(?:def|class|-- name:) {name}\b", text, re.MULTILINE) is not None


def test_how_it_works_stays_two_pages():
    """What is asked seldom goes to where-to-look.md; the first page is read as a whole."""
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 180
    rooms = page.partition("## Rooms")[2].partition("\n## ")[0]
    assert [line for line in rooms.splitlines() if line.startswith("| ") and len(line) > 110] == []


def missing(text):
    """The source files that a text names and that are not where the text says.

    A path is meant from the top of the repository, or below `src/fleet`; a bare name is meant
    anywhere among the sources and tests.
    """
    absent = set()
    for path in re.findall(r"`(?:fleet/)?([\w./]+\.(?:py|sql))`", text):
        tops = (ROOT, ROOT / "src/fleet")
        if "/" in path:
            found = any((top / path).is_file() for top in tops)
        else:
            found = any(any((ROOT / top).rglob(path)) for top in ("src", "tests"))
        absent |= set() if found else {path}
    return sorted(absent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_that_a_page_names_is_where_the_page_says(page):
    """The whole path is right, not only its end."""
    assert missing(page.read_text(encoding="utf-8")) == []


def test_a_path_with_a_wrong_room_is_found():
    """A moved module is a defect of the page, though a file of that name exists elsewhere."""
    text = "`loop.py` `supervisor/loop.py` `tests/docs/test_pages.py` `control/loop.py` `gone.py`"
    assert missing(text) == ["control/loop.py", "gone.py"]


def test_every_record_that_a_page_names_is_written_or_read_by_the_program():
    """The names of files in the home and in a run's directory are those of the source."""
    names = {
        name
        for page in PAGES
        if page.parent.name != "decisions"
        for name in re.findall(
            r"`(?:[\w<>/]+/)?([\w-]+\.(?:json|jsonl|lock|index|patch))`",
            page.read_text(encoding="utf-8"),
        )
    }
    assert {"run.json", "exit.json", "outcome.json", "run.lock"} <= names
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    assert sorted(name for name in names if name not in source) == []
