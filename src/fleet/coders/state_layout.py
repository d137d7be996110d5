"""Where a CLI keeps its state, and which parts of it a run in a box gets."""

import glob

from msgspec import Struct


class StateLayout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of a CLI's state directory that fleet knows.

    A box has a state directory of its own at the same path. What is not named here is not in it: a
    new version of the CLI may obey files that are not known yet.
    """

    #: The user's configuration, read-only in a box: `file`, `directory/`, or `directory/*` for each
    #: entry whose name begins with no dot. Runs with a lean context get none of it.
    config: tuple[str, ...] = ()
    #: Configuration without which the CLI may not reach its model: lean runs get it too.
    required: tuple[str, ...] = ()
    #: Patterns of files of which the box gets a copy: the CLI writes beside them.
    copied: tuple[str, ...] = ()
    #: More configuration, below the user's home.
    home_config: tuple[str, ...] = ()
    #: Patterns of the files of the session `{id}` (`AgentPlace.find`); the first is its record.
    #: Without them a session ends with its box.
    sessions: tuple[str, ...] = ()

    def session_patterns(self, session_id: str) -> tuple[str, ...]:
        """Where the files of a session lie below the state directory, its record first."""
        name = glob.escape(session_id)
        return tuple(pattern.replace("{id}", name) for pattern in self.sessions)
