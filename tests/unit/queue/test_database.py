"""`:name` becomes `$n`, and nothing else in a statement changes."""

import pytest

from fleet.queue.sql.postgres.database import numbered


@pytest.mark.parametrize(
    ("sql", "text", "names"),
    [
        ("SELECT :a, :b, :a", "SELECT $1, $2, $1", ("a", "b")),
        ("SELECT ':a', :a", "SELECT ':a', $1", ("a",)),
        ("SELECT 'it''s :a' || :b_2", "SELECT 'it''s :a' || $1", ("b_2",)),
        ("SELECT x::bigint, :x::text", "SELECT x::bigint, $1::text", ("x",)),
        ("SELECT '%any%'", "SELECT '%any%'", ()),
    ],
)
def test_names_become_numbers(sql, text, names):
    """Each name gets one number; quoted text and casts stay as they are."""
    assert numbered(sql) == (text, names)
