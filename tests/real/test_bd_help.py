"""The recorded help is that of the bd on this machine."""

from fleet.bd.command_line import VERBS
from fleet.bd.only_beads import bd_help
from tests.conftest import SLOW
from tests.real.bd_help import read_help


def test_the_recorded_help_is_that_of_this_bd(bd):
    """`python -m tests.real.record` writes what a later bd says. Commands of beads alone are asked
    with FLEET_SLOW=1.
    """
    kept = bd_help()
    names = list(kept.commands) if SLOW else [name for name in kept.commands if name in VERBS]
    found = read_help(bd, names)
    assert found.everywhere == kept.everywhere
    assert found.version == kept.version
    assert found.commands == {name: kept.commands[name] for name in names}
    if SLOW:
        assert read_help(bd) == kept
    else:
        assert found.aliases.items() <= kept.aliases.items()
