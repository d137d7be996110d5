"""The worst words stay out: a sentence names its subject.

"Whoever", "nobody" and their like hide which process, person or file is meant; so does a docstring
that begins with a pronoun, or leans on "it" from sentence to sentence.
"""

import re
from pathlib import Path

import pytest

from tests.docs.docstrings import docstrings

ROOT = Path(__file__).parents[2]
WORST = re.compile(r"\b(whoever|nobody|somebody|anybody|so-manieth)\b", re.IGNORECASE)
#: The first sentence of a docstring; a colon or a semicolon does not end one.
FIRST_SENTENCE = re.compile(r'^ *r?"""(\S.*?)(?:[.?!](?=\s)|"""|\n\n)', re.MULTILINE | re.DOTALL)
PRONOUN_FIRST = re.compile(r"(It|Its|Those|They|Their|He|His|Whose)\b")
#: A comment on its own line; one that goes on from the line above begins with a small letter.
COMMENT = re.compile(r"^ *#:? (.*)$", re.MULTILINE)
#: "So many seconds" sends the reader looking for the figure: "this many" points at it.
SO_MANY = re.compile(r"\bso (many|long|often)\b(?! (as|that)\b)", re.IGNORECASE)
IT = re.compile(r"\b(it|its|itself)\b", re.IGNORECASE)
#: Of 1,000 words in first sentences; well-kept projects have about 10.
MOST_ITS = 8
TEXTS = {".py", ".sql", ".md", ".toml", ".sh", ".tmpl"}


def lines():
    """Each line with one of the words, and where it stands."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    files = [*(ROOT / "src/fleet").rglob("*"), *(ROOT / "docs").rglob("*"), *pages]
    for path in sorted(file for file in files if file.suffix in TEXTS):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if WORST.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def test_every_sentence_names_its_subject():
    """Say which process, which person, which task."""
    assert list(lines()) == []


def first_sentences():
    """Each docstring's first sentence on one line, and where the docstring stands."""
    for path in sorted((ROOT / "src/fleet").rglob("*.py")):
        for found in FIRST_SENTENCE.finditer(path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT), " ".join(found[1].split())


def test_no_docstring_begins_with_a_pronoun():
    """A reader who came by a search sees this sentence first, and often alone."""
    wrong = [f"{path}: {text}" for path, text in first_sentences() if PRONOUN_FIRST.match(text)]
    assert wrong == []


def test_no_comment_begins_with_a_pronoun():
    """The comment above a field is read alone, in an editor or in `docs/api.md`."""
    files = sorted((ROOT / "src/fleet").rglob("*.py"))
    found = [(path, text) for path in files for text in COMMENT.findall(path.read_text("utf-8"))]
    assert [each for each in found if PRONOUN_FIRST.match(each[1])] == []


def test_no_paragraph_of_a_docstring_begins_with_a_pronoun():
    """A paragraph stands alone: its first sentence names the thing again."""
    paragraphs = [(each.path, part) for each in docstrings() for part in each.text.split("\n\n")]
    assert [each for each in paragraphs if PRONOUN_FIRST.match(each[1].lstrip("\b\n "))] == []


def test_a_figure_is_pointed_at():
    """A comment above a constant says "this many", and a docstring names the argument."""
    texts = [(each.path, each.text) for each in docstrings()]
    for path in sorted((ROOT / "src/fleet").rglob("*.py")):
        texts += [(path, text) for text in COMMENT.findall(path.read_text(encoding="utf-8"))]
    assert [(path, text) for path, text in texts if SO_MANY.search(text)] == []


def test_first_sentences_seldom_lean_on_it():
    """Name the task, the run or the file: `it` sends the reader looking."""
    text = " ".join(text for _, text in first_sentences())
    assert len(IT.findall(text)) * 1000 <= MOST_ITS * len(text.split())


@pytest.mark.parametrize("word", ["Whoever", "nobody's", "the so-manieth of them"])
def test_the_words_are_recognised(word):
    """In any case, and in a sentence."""
    assert WORST.search(f"what {word} does")


def test_names_of_tests_are_not_sentences():
    """`docs/invariants.md` names tests as they are called."""
    assert not WORST.search("test_nobody_waits_until_midnight_to_be_idle")
