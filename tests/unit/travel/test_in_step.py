"""What a person edits in an artifact by hand is not lost to the queue's older copy."""

import pytest

from fleet.travel.in_step import content, merged

OLD = b"## Q: Which?\n"
ANSWERED = OLD + b"## A: Blue.\n"
NEWER = OLD + b"## Q: Sure?\n"


@pytest.mark.parametrize(
    ("here", "there", "known", "kept"),
    [
        (OLD, NEWER, OLD, NEWER),
        (ANSWERED, OLD, OLD, ANSWERED),
        (b"# Plan, rewritten\n", OLD, OLD, b"# Plan, rewritten\n"),
        (ANSWERED, NEWER, OLD, NEWER + b"## A: Blue.\n"),
        (ANSWERED, OLD + b"\n## A: Blue.\n", OLD, OLD + b"\n## A: Blue.\n"),
        (b"rewritten", NEWER, OLD, NEWER),
        (ANSWERED, OLD, None, ANSWERED),
        (b"of another run", OLD, None, OLD),
    ],
)
def test_the_newer_edit_wins_and_an_addition_is_never_lost(here, there, known, kept):
    """Each side's change counts; only a rewrite against a rewrite is decided for the queue."""
    assert merged(here, there, None if known is None else content(known)) == kept
