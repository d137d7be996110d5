"""The login that a box gets: an access token without the refresh token.

A refresh token is spent once. A box that held one could spend, lose or keep it.
"""

from collections.abc import Mapping
from pathlib import Path

from fleet.coders.base import Coder
from fleet.files import lenient_read
from fleet.files.atomic_write import write_atomically

#: No login file is longer.
_LARGEST = 64 << 10


def put(
    coder: Coder | type[Coder], source: Path, state: Path, env: Mapping[str, str]
) -> dict[str, str]:
    """Write the login of the directory `source` into a run's state directory, without its refresh
    token. Returns variables to add to the agent's environment `env`.
    """
    del env
    found = lenient_read.read(source / coder.login_file, _LARGEST) if coder.login_file else None
    login = coder.boxed_login(found.data) if found is not None and found.whole else None
    if login is not None:
        write_atomically(state / coder.login_file, login, durable=False)
    return {}
