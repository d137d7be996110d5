"""The loop applies the settings, and remembers what it was started with."""

from fleet import config
from fleet.home import make_home
from fleet.supervisor.loop import Supervisor


def test_the_coder_that_a_supervisor_was_started_with_outlives_new_settings(home):
    """`fleet run --coder` stands in the place of the configured coder, whatever that is by then."""
    make_home(home)
    home.config.write_text('coder = "claude"\n')
    supervisor = Supervisor(home, config.load(home.config), coder="codex", echo=None)
    assert supervisor.state.config.coder == "codex"
    home.config.write_text('coder = "agy"\nmax_concurrent = 7\n')
    supervisor.reload()
    applied = supervisor.state.config
    assert (applied.coder, applied.max_concurrent) == ("codex", 7)
