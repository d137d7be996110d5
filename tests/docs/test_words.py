"""The worst words stay out: a sentence names its subject.

"Whoever", "nobody" and their like hide which process, person or file is meant.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORST = re.compile(r"\b(whoever|nobody|somebody|anybody|so-manieth)\b", re.IGNORECASE)
TEXTS = {".py", ".sql", ".md", ".toml"}

#: How many lines of each room had such a word before the rule. These may only shrink.
NOT_YET = {"templates": 1}


def room(path):
    """The first directory below src/fleet, or the page itself."""
    parts = path.relative_to(ROOT).parts
    return parts[2] if parts[0] == "src" else path.relative_to(ROOT).as_posix()


def lines():
    """Each line with one of the words, with the room and the place that it stands in."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    files = [*(ROOT / "src/fleet").rglob("*"), *(ROOT / "docs").rglob("*"), *pages]
    for path in sorted(file for file in files if file.suffix in TEXTS):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if WORST.search(line):
                yield room(path), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def test_every_sentence_names_its_subject():
    """Say which process, which person, which task; lower the room's number when you mend lines."""
    found = list(lines())
    counts = Counter(where for where, _ in found)
    over = {where for where, count in counts.items() if count > NOT_YET.get(where, 0)}
    assert [line for where, line in found if where in over] == []
    mended = {where for where, count in NOT_YET.items() if counts[where] < count}
    assert mended == set(), "lower the numbers of these rooms"


@pytest.mark.parametrize("word", ["Whoever", "nobody's", "the so-manieth of them"])
def test_the_words_are_recognised(word):
    """In any case, and in a sentence."""
    assert WORST.search(f"what {word} does")


def test_names_of_tests_are_not_sentences():
    """`docs/invariants.md` names tests as they are called."""
    assert not WORST.search("test_nobody_waits_until_midnight_to_be_idle")
