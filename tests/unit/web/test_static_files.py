"""What the page's own files must not hold: they show the text of agents, and never obey it."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[3] / "src/fleet/web/static"
OWN = [path for path in sorted(STATIC.rglob("*.js")) if "vendor" not in path.parts]
SHEETS = sorted((STATIC / "style").glob("*.css"))

#: Each turns text into markup or code, or gives text away.
FORBIDDEN = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML", "srcdoc"),
    *("document.write", "DOMParser", "createContextualFragment", "setHTMLUnsafe"),
    *("eval(", "new Function", "document.cookie", "javascript:", "smooth"),
)


def names(paths):
    return [str(path.relative_to(STATIC)) for path in paths]


@pytest.mark.parametrize("path", OWN, ids=names(OWN))
def test_a_module_makes_no_markup_of_text_and_stays_small(path):
    """One `innerHTML` with an agent's words in it runs those words with the person's key."""
    text = path.read_text("utf-8")
    assert [word for word in FORBIDDEN if word in text] == []
    lines = text.splitlines()
    assert len(lines) <= 300
    assert [line for line in lines if len(line) > 140] == []
    assert lines[0].startswith("// "), "the first line says what the module is for"


@pytest.mark.parametrize("path", OWN, ids=names(OWN))
def test_every_import_is_a_file(path):
    """Nothing is built: a misspelt path would only show in the browser."""
    for target in re.findall(r"(?:from |import\()'(\.[^']+)'", path.read_text("utf-8")):
        found = path.parent / target
        assert found.is_file() or found.with_suffix(".d.ts").is_file(), target


def test_the_shell_holds_no_script_and_no_style_of_its_own():
    """The content security policy allows files of this origin alone."""
    shell = (STATIC / "index.html").read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", shell)
    for address in re.findall(r'(?:src|href)="([^"]+)"', shell):
        assert (STATIC / address.removeprefix("/static/")).is_file(), address


@pytest.mark.parametrize("path", SHEETS, ids=names(SHEETS))
def test_a_sheet_loads_nothing_and_takes_its_colours_from_the_tokens(path):
    """Dark and light differ in tokens.css alone."""
    text = path.read_text("utf-8")
    assert "url(http" not in text
    assert "@import" not in text
    assert len(text.splitlines()) <= 300
    if path.name != "tokens.css":
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^;{]*\{)", text) in ([], ["#fff"])
