"""Text as a terminal may be given it."""

import json

from fleet.schemas.shown_text import harmless, harmless_json, one_line


def test_what_a_terminal_obeys_is_shown_as_an_escape():
    """Sequences, overwriting and the reversal of a line are text like any other."""
    assert one_line("a\x1b[2J\u202eb\r\nc\td") == "a\\x1b[2J\\u202eb\\r\\nc\\td"
    assert harmless("a\x9b31m\nb\tc\x00") == "a\\x9b31m\nb\tc\\x00"
    assert one_line("Größe 大 ✓") == "Größe 大 ✓"


def test_json_means_the_same():
    """A program that reads a terminal's copy finds the same value."""
    text = json.dumps({"t": "a\u202e\x9b\u2028\x7fé"}, ensure_ascii=False)
    shown = harmless_json(text)
    assert shown != text
    assert json.loads(shown) == json.loads(text)
    assert all(letter.isprintable() for letter in shown)
