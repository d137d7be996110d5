"""`remotes.json` in the home: the addresses that the operator lets fleet push a project to.

A project's configuration says where its remotes are, and an agent without a box can write that
file. Fleet pushes with the operator's logins, so it pushes to an address only after the operator
has seen it: when they set `land_to` for the project, or by `fleet trust --remote`.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

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


def is_trusted(home: Path, common_dir: str, upstream: Upstream) -> bool:
    """Whether fleet may push the repository with this git directory there. Raises InvalidTask."""
    known = trusted(home).get(common_dir, ())
    return without_password(upstream.url) in {without_password(each.url) for each in known}


def is_trusted_address(home: Path, common_dir: str, url: str) -> bool:
    """Whether fleet may fetch from this address, and push results there, for the repository with
    this git directory. Raises InvalidTask.
    """
    return url in {plain_address(each.url) for each in trusted(home).get(common_dir, ())}


def trusted(home: Path) -> Mapping[str, tuple[TrustedRemote, ...]]:
    """What is trusted, by the common git directory of each repository. Raises InvalidTask."""
    return _RECORD.read(home / FILE) or {}


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
