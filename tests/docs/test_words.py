"""The worst words stay out: a sentence names its subject.

"Whoever", "nobody" and their like hide which process, person or file is meant.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORST = re.compile(r"\b(whoever|nobody|somebody|anybody|so-manieth)\b", re.IGNORECASE)
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


@pytest.mark.parametrize("word", ["Whoever", "nobody's", "the so-manieth of them"])
def test_the_words_are_recognised(word):
    """In any case, and in a sentence."""
    assert WORST.search(f"what {word} does")


def test_names_of_tests_are_not_sentences():
    """`docs/invariants.md` names tests as they are called."""
    assert not WORST.search("test_nobody_waits_until_midnight_to_be_idle")
