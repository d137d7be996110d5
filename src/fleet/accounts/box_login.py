"""The login that a box gets: an access token without the refresh token.

A refresh token is spent once. A box that held one could spend, lose or keep it.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from fleet.coders.base import Coder
from fleet.coders.login import Login
from fleet.errors import InvalidTask
from fleet.files import lenient_read
from fleet.files.agent_place import AgentPlace

#: No login file is longer.
_LARGEST = 64 << 10


def read(coder: Coder | type[Coder], source: Path, env: Mapping[str, str]) -> Login | None:
    """The login that the CLI keeps in the directory `source`, to which `env` leads it; None: none
    that fleet knows.
    """
    found = lenient_read.read(source / coder.login_file, _LARGEST) if coder.login_file else None
    login = coder.read_login(found.data) if found is not None and found.whole else None
    if login is None:
        return None
    return structs.replace(login, owner=coder.login_owner(login, env))


def holds(coder: Coder | type[Coder], login: Login, state: Path) -> bool:
    """Whether a run's state directory has just this login: its agent may have changed the file."""
    try:
        return AgentPlace(state).read(coder.login_file, _LARGEST) == login.boxed
    except (InvalidTask, OSError):
        return False


def put(coder: Coder | type[Coder], login: Login, state: Path) -> None:
    """Write a login into a run's state directory, in the place of the one that is there.

    An agent may be at work there. Raises FileNotFoundError where the directory is gone, InvalidTask
    and OSError as `AgentPlace.write` does.
    """
    AgentPlace(state).write(coder.login_file, login.boxed, durable=False, make=False)
