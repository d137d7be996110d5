"""What ssh is called with."""

import pytest

from fleet.control.hosts.add.ssh_call import destination
from fleet.errors import BadInput


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "a;b", "", "a@", "a\nb", "$(x)@h"])
def test_a_word_that_ssh_or_a_shell_could_take_for_another_is_refused(name):
    """A destination that begins with a dash would be an option, and run a command."""
    with pytest.raises(BadInput, match="is no machine"):
        destination(name, ())


@pytest.mark.parametrize("name", ["alpha", "me@alpha", "me.x@10.0.0.1", "me@fe80::1", "my_host"])
def test_destinations_of_ssh_are_taken(name):
    """Also a Host of the person's own ssh settings."""
    to = destination(name, ("Port=2222",))
    argv = to.argv("true")
    assert argv[-3:] == ["--", name, "true"]
    assert argv[1:3] == ["-o", "Port=2222"]


def test_ssh_asks_nothing():
    """A question would wait at a terminal for a person who may not be there."""
    assert "BatchMode=yes" in destination("alpha", ()).argv("true")
    with pytest.raises(BadInput, match="KEY=VALUE"):
        destination("alpha", ("Port",))
