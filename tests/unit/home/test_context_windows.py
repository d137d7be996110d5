"""How much the context of each model holds, as the CLIs reported it."""

from fleet.home import Home
from fleet.home.context_windows import FILE, known_window, note_window
from tests.builders import NOW


def test_the_last_report_of_a_model_counts(tmp_path):
    """A vendor may change a model's window, and each coder's models are its own."""
    home = Home(tmp_path)
    assert known_window(home, "claude", "sonnet") == 0
    note_window(home, "claude", "sonnet", 200_000, NOW)
    note_window(home, "claude", "sonnet", 1_000_000, NOW)
    assert known_window(home, "claude", "sonnet") == 1_000_000
    assert known_window(home, "claude", "opus") == known_window(home, "codex", "sonnet") == 0


def test_a_damaged_file_holds_no_windows(tmp_path):
    """The coder's own figure counts until a run reports another."""
    home = Home(tmp_path)
    (tmp_path / FILE).write_text('{"claude/sonnet": "much"}')
    assert known_window(home, "claude", "sonnet") == 0
    note_window(home, "claude", "sonnet", 200_000, NOW)
    assert known_window(home, "claude", "sonnet") == 200_000
