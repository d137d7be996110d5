"""Which repository on which forge an address of git leads to. Pure."""

import re
from urllib.parse import urlsplit

from msgspec import Struct

from fleet.errors import FleetError
from fleet.forge.forge_protocol import ForgeKind
from fleet.git.remote.upstream import without_password

_GITHUB = "github.com"
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!/)(.+)")
_HINT = (
    "Say which forge it is: fleet config set --project . forge=github (or gitea, or its address)"
)


class RepositoryAddress(Struct, frozen=True, kw_only=True):
    """A repository on a forge."""

    kind: ForgeKind
    #: The forge's own address, without a slash at the end: `https://git.example.org`.
    site: str
    owner: str
    name: str

    @property
    def host(self) -> str:
        return self.site.partition("://")[2]


def address_of(url: str, forge: str) -> RepositoryAddress:
    """The repository that an address of git leads to; `forge` is the setting.

    `auto` takes github.com for GitHub and any other host for Gitea or Forgejo. Raises FleetError.
    """
    scheme, host, path = _parts(url)
    words = [word for word in path.strip("/").removesuffix(".git").split("/") if word]
    if not host or len(words) < 2 or not all(map(_is_word, words)):
        raise FleetError(f"{without_password(url)} is no repository on a forge", hint=_HINT)
    if forge.startswith(("http://", "https://")):
        return RepositoryAddress(
            kind="gitea", site=forge.rstrip("/"), owner=words[-2], name=words[-1]
        )
    kind: ForgeKind = "gitea"
    if forge == "github" or (forge == "auto" and host.lower() == _GITHUB):
        kind = "github"
    # Where git goes by ssh, the forge's own pages are at the usual port of its host.
    site = f"{scheme}://{host}" if scheme in ("http", "https") else f"https://{_bare(host)}"
    prefix = "".join(f"/{word}" for word in words[:-2])
    return RepositoryAddress(kind=kind, site=f"{site}{prefix}", owner=words[-2], name=words[-1])


def _parts(url: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            return parts.scheme, parts.netloc.rpartition("@")[2], parts.path
        except ValueError:
            return "", "", ""
    found = _SCP.fullmatch(url)
    return ("ssh", found[1], found[2]) if found else ("", "", "")


def _bare(host: str) -> str:
    return re.sub(r":\d+$", "", host)


def _is_word(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9._~-]+", word) is not None and word not in (".", "..")
