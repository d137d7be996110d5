"""The repositories whose code is on this host already: mirrors, and projects."""

from pathlib import Path

from fleet.errors import InvalidTask
from fleet.git.remote.trusted_remotes import trusted
from fleet.git.remote.upstream import plain_address
from fleet.home import Home


def warm_addresses(home: Home) -> tuple[str, ...]:
    """The addresses of these repositories, as tasks name them: those that the operator
    has confirmed.
    """
    try:
        known = trusted(home.path)
    except InvalidTask:
        return ()
    found = {
        plain_address(each.url)
        for common_dir, remotes in known.items()
        if _has_branches(Path(common_dir))
        for each in remotes
    }
    return tuple(sorted(found - {""}))


def _has_branches(common_dir: Path) -> bool:
    """Something was fetched or committed: a mirror that is being made has no branch yet."""
    if (common_dir / "packed-refs").exists():
        return True
    try:
        return any((common_dir / "refs" / "heads").iterdir())
    except OSError:
        return False
