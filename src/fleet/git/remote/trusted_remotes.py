"""`remotes.json` in the home: the addresses that the operator lets fleet push a project to.

A project's configuration says where its remotes are, and an agent without a box can write that
file. Fleet pushes with the operator's logins, so it pushes to an address only after the operator
has seen it: when they set `land_to` for the project, or by `fleet trust --remote`.
"""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.git.remote.upstream import Upstream, plain_address, without_password

FILE = "remotes.json"


class TrustedRemote(Struct, frozen=True, kw_only=True):
    """An address without the password, and since when the address is trusted."""

    url: str
    at: datetime


_RECORD = JsonRecord(
    dict[str, tuple[TrustedRemote, ...]],
    hint="Move it away; then trust again where your projects are pushed to: fleet trust --remote",
)


def is_trusted(home: Path, common_dir: str, url: str) -> bool:
    """Whether fleet may fetch from this address, and push there, for the repository with this git
    directory; a login in an address does not count. Raises InvalidTask.
    """
    known = (_RECORD.read(home / FILE) or {}).get(common_dir, ())
    return _without_login(url) in {_without_login(each.url) for each in known}


def _without_login(url: str) -> str:
    return plain_address(url) or without_password(url)


def warm_addresses(home: Path) -> tuple[str, ...]:
    """The trusted addresses of the repositories whose code is on this host already, mirrors and
    projects, as tasks name them.
    """
    try:
        known = _RECORD.read(home / FILE) or {}
    except InvalidTask:
        return ()
    warm = (remotes for common_dir, remotes in known.items() if _has_branches(Path(common_dir)))
    return tuple(sorted({plain_address(each.url) for some in warm for each in some} - {""}))


def _has_branches(common_dir: Path) -> bool:
    """Something was fetched or committed: a mirror that is being made has no branch yet."""
    if (common_dir / "packed-refs").exists():
        return True
    try:
        return any((common_dir / "refs" / "heads").iterdir())
    except OSError:
        return False


def trust_remote(home: Path, common_dir: str, upstream: Upstream, now: datetime) -> None:
    """Let fleet push there from now on, durably; what was trusted before stays so."""
    with exclusive(home / "remotes.lock"):
        known = _RECORD.read(home / FILE) or {}
        url = without_password(upstream.url)
        mine = (each for each in known.get(common_dir, ()) if without_password(each.url) != url)
        added = (*mine, TrustedRemote(url=url, at=now))
        _RECORD.write(home / FILE, {**known, common_dir: added})


def untrusted_text(root: str, upstream: Upstream) -> str:
    """What is asked of a person before fleet pushes to an address for the first time."""
    return (
        f"{upstream.remote} of {root} leads to {upstream.shown}, which you have not confirmed:"
        f" if that is right, run: fleet trust --remote {root}"
    )
