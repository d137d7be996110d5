"""The reason for which fleet stopped a run, on disk."""

from fleet.runs import stop_reason
from fleet.schemas import ContextFull, Stopped
from tests.builders import a_run


def test_it_is_found_again(tmp_path):
    """The supervisor that adopts the run reads it; a missing or damaged file gives none."""
    run = a_run(tmp_path)
    assert stop_reason.read(run) is None
    for outcome in (ContextFull(tokens=9, window=10), Stopped(by="ada")):
        stop_reason.record(run, outcome)
        assert stop_reason.read(run) == ContextFull(tokens=9, window=10), "the first stands"
    (run.path / stop_reason.FILE).write_text('{"type":"Nonsense"}')
    assert stop_reason.read(run) is None


def test_a_reason_that_an_earlier_version_wrote_is_read(tmp_path):
    """A run that was being stopped as fleet was upgraded ends for its reason."""
    run = a_run(tmp_path)
    stop_reason._EARLIER.write(run.path, Stopped(by="ada"), run.number)
    assert stop_reason.read(run) == Stopped(by="ada")
    stop_reason.record(run, ContextFull(tokens=9, window=10))
    assert stop_reason.read(run) == Stopped(by="ada"), "the first stands"
    stop_reason.forget(run)
    assert stop_reason.read(run) is None
