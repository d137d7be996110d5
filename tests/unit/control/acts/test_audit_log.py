"""The audit: every act once, in a chain that tells of each change."""

import os
import threading

import pytest

from fleet.control import pause
from fleet.control.acts import audit_log
from fleet.control.acts.act_table import carry_out
from fleet.control.acts.audit_log import lines, record, recorded_line, verify
from fleet.errors import Refused

WHO = {"BEADS_ACTOR": "ada"}


@pytest.fixture
def file(home):
    """Five acts, and the file that holds them."""
    for number in range(5):
        record(home, surface="cli", verb="tell", line=f"fleet tell x {number}", env=WHO)
    assert verify(home).problems == ()
    return home.path / audit_log.FILE


def changed(file, change):
    """The file with its lines as `change` leaves them."""
    kept = file.read_text().splitlines(keepends=True)
    change(kept)
    file.write_text("".join(kept))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda kept: kept.pop(2), "line 3"),
        (lambda kept: kept.insert(2, kept[2]), "line 4"),
        (lambda kept: kept.__setitem__(1, kept[1].replace("ada", "eve")), "line 3"),
        (lambda kept: kept.__setitem__(1, "{}\n"), "line 2 cannot be read"),
        (lambda kept: kept.reverse(), "line 1"),
        (lambda kept: kept.pop(), "the end is missing"),
        (lambda kept: kept.__setitem__(4, kept[4].replace("ada", "eve")), "the end is missing"),
        (lambda kept: kept.clear(), "5 acts were recorded"),
    ],
)
def test_every_change_of_a_line_is_found(home, file, change, told):
    """One that was changed, taken out or put in, in the middle and at the end."""
    changed(file, change)
    assert told in " ".join(verify(home).problems)


def test_half_a_line_is_told_and_the_chain_goes_on(home, file):
    """After a power cut: what comes then is a line of its own, which follows what is there."""
    with file.open("a") as half:
        half.write('{"at":"2026')
    record(home, surface="cli", verb="tell", line="fleet tell x 5", env=WHO)
    assert verify(home).problems == ("line 6 cannot be read",)
    assert [line.line[-1] for line in lines(home)] == list("012345")
    assert [line.line[-1] for line in lines(home, 2)] == ["4", "5"]


def test_many_at_once_make_one_chain(home):
    """Each act stands in it once, whichever thread or process wrote it."""

    def act(who):
        for number in range(20):
            line = f"fleet tell {who} {number}"
            assert record(home, surface="web", verb="tell", line=line, env=WHO) == ""

    threads = [threading.Thread(target=act, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify(home) == audit_log.ChainCheck(lines=160)
    assert len({line.line for line in lines(home)}) == 160


def test_an_act_of_a_surface_is_recorded_with_its_end(fleet):
    """Also one that was refused; surface and person are those that asked."""
    fleet.env = WHO
    carry_out(fleet, "pause", {}, surface="web")
    fleet.env = {**WHO, "FLEET_RUN_ID": "me.x.1"}
    with pytest.raises(Refused):
        carry_out(fleet, "pause", {}, surface="web")
    done, refused = lines(fleet.home)
    assert (done.surface, done.user, done.verb, done.end) == ("web", "ada", "pause", "done")
    assert done.line == "fleet pause"
    assert refused.end.startswith("refused: an agent cannot")


def test_an_act_that_breaks_off_is_recorded_too(fleet, monkeypatch):
    """It may have done half of what was asked."""

    def gone(_):
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(pause, "pause", gone)
    with pytest.raises(OSError, match="Input/output"):
        carry_out(fleet, "pause", {}, surface="web")
    (line,) = lines(fleet.home)
    assert (line.verb, line.end) == ("pause", "broken off")


def test_a_disk_that_takes_nothing_stops_no_act_and_the_person_is_told(fleet, monkeypatch):
    """The brake has to work on a full disk."""

    def full(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(audit_log, "append", full)
    end = carry_out(fleet, "pause", {}, surface="top")
    assert (fleet.home.path / "paused").exists()
    assert end.words.endswith("But it is not in the audit: No space left on device.")
    env = {**WHO, "FLEET_HOME": str(fleet.home.path)}
    _, unrecorded = recorded_line("resume", ["resume"], lambda: 0, env)
    assert unrecorded.startswith("it is not in the audit")


def test_a_command_line_is_recorded_however_it_ends(home):
    """Done, with another exit code, refused, or broken off."""
    env = {**WHO, "FLEET_HOME": str(home.path)}
    assert recorded_line("bd close", ["bd", "close", "x", "it's done"], lambda: 0, env) == (0, "")
    assert recorded_line("stop", ["stop", "x"], lambda: 3, env) == (3, "")
    for error in (Refused("not now"), KeyboardInterrupt()):

        def fail(error=error):
            raise error

        with pytest.raises(type(error)):
            recorded_line("retry", ["retry", "x"], fail, env)
    ends = [(line.verb, line.end) for line in lines(home)]
    assert ends == [
        ("bd close", "done"),
        ("stop", "exit code 3"),
        ("retry", "refused: not now"),
        ("retry", "broken off"),
    ]
    assert lines(home)[0].line == "fleet bd close x 'it'\"'\"'s done'"
