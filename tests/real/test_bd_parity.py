"""Fleet answers the bd commands as the bd 1.3.0 on this machine does; where it does not, a line of
`ACCEPTED` says why.
"""

import pytest

from tests.conftest import SLOW
from tests.real import bd_lines, bd_more_lines
from tests.real.bd_lines import ACCEPTED
from tests.real.bd_parity import asked, differences, every_line, kept, of_bd, of_fleet

SCRIPTS = {**bd_lines.SCRIPTS, **bd_more_lines.SCRIPTS}
#: One that writes and reads: bd takes a third of a second of processor for each line.
ALWAYS = ("claims",)


def surprises(lines, theirs, own):
    """What differs and is in no table, as a text; the table has to be true, too."""
    found = differences(lines, theirs, own)
    accepted = {line for line in lines if line in ACCEPTED}
    assert accepted <= set(found), "a difference that is gone should leave the table"
    return "\n\n".join(f"{line}\n{how}" for line, how in found.items() if line not in accepted)


@pytest.mark.parametrize("name", SCRIPTS)
def test_fleet_answers_as_bd_did(name, tmp_path):
    """Exit codes and JSON are those of bd."""
    lines = every_line(SCRIPTS[name])
    theirs = kept(name)
    assert [row.line for row in theirs] == lines, "the script is another: record it anew"
    own = of_fleet(tmp_path, SCRIPTS[name], lines)
    assert surprises(lines, [row.answer for row in theirs], own) == ""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCRIPTS if SLOW else ALWAYS)
def test_fleet_answers_as_bd_does(name, bd, bd_home, tmp_path):
    """The same, asked of the bd that is here."""
    script = SCRIPTS[name]
    lines = asked(script)
    theirs = of_bd(bd_home, bd, tmp_path, script, lines)
    assert surprises(lines, theirs, of_fleet(tmp_path, script, lines)) == ""
    if SLOW:
        known = [row.answer for row in kept(name)]
        assert differences(lines, known, theirs) == {}, "this bd says other things: record it anew"
