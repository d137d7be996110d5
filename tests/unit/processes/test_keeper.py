"""The keeper reads and writes JSON without the json module; both must mean the same."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fleet.processes import keeper

values = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
records = st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(records)
def test_what_the_keeper_writes_anyone_can_read(record):
    """Every record comes back the same through the standard library."""
    assert json.loads(keeper.dumps(record)) == record


@given(records, st.booleans())
def test_the_keeper_reads_what_anyone_writes(record, ascii_only):
    """Escaped or not, every file comes back the same."""
    assert keeper.loads(json.dumps(record, ensure_ascii=ascii_only)) == record


def test_a_scanner_that_wants_more_is_replaced(monkeypatch):
    """A later Python whose scanner asks for options we do not know costs time, not the run."""
    monkeypatch.delattr(keeper.Plain, "strict")
    assert keeper.loads('{"argv": ["true"]}') == {"argv": ["true"]}
