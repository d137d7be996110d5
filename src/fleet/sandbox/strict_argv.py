"""The command line of a strict box, whose network leads to named hosts through a process outside.
Pure.

From the outside in: `network_holder`, the proxy; bubblewrap; `hand_over`, which becomes the agent.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from msgspec import Struct, structs

from fleet.sandbox.bwrap_argv import Box, bwrap_argv

#: The descriptor of the line out of the box, and the port of the proxy in the box's own network.
_LINE, _PORT = 98, 3128
_PROXY = f"http://127.0.0.1:{_PORT}"
_HERE = Path(__file__).parent
_LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")


class MaskedKey(Struct, frozen=True, kw_only=True):
    """A key that does not enter the box."""

    #: What the box has in the variable of the key.
    mark: str
    #: The header that the key goes out in, and what precedes it there: `authorization: Bearer`.
    header: str
    #: The file with the present key, if it can change during the run; empty: it is in the variable.
    file: str = ""


class MaskedKeys(Struct, frozen=True, kw_only=True):
    """Keys that do not enter the box, by variable."""

    keys: Mapping[str, MaskedKey]
    #: Where the requests go that carry them: the variable that tells the CLI, and the address.
    url_variable: str
    url: str

    @property
    def vendor(self) -> str:
        """Host and port as the box asks for them, without encryption."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port or 80}"

    @property
    def encrypted(self) -> bool:
        return self.url.startswith("https:")


#: No key is kept from the box.
UNMASKED = MaskedKeys(keys={}, url_variable="", url="")


def mask(
    env: Mapping[str, str],
    headers: Mapping[str, str],
    url_variable: str,
    url: str,
    files: Mapping[str, str] = MappingProxyType({}),
) -> MaskedKeys:
    """Which keys stay outside, for requests to the vendor's address: those of the variables in
    `headers` that have a value, or a file in `files`.
    """
    found = [name for name in headers if env.get(name) or name in files]
    if not found or not url_variable:
        return UNMASKED
    keys = {
        name: MaskedKey(
            mark=f"kept-outside-{number}", header=headers[name], file=files.get(name, "")
        )
        for number, name in enumerate(found, 1)
    }
    return MaskedKeys(keys=keys, url_variable=url_variable, url=env.get(url_variable) or url)


def strict_argv(
    box: Box,
    argv: Sequence[str],
    *,
    program: str,
    hosts: Iterable[str],
    masked: MaskedKeys = UNMASKED,
) -> tuple[str, ...]:
    """The command that runs `argv` in the box, with a way to these hosts and to no other."""
    python = (sys.executable, "-I", "-S")
    begin = (*python, str(_HERE / "hand_over.py"), str(_LINE), str(_PORT), *argv)
    settings = {
        "hosts": sorted(set(hosts)),
        "keys": {name: structs.asdict(key) for name, key in masked.keys.items()},
        "vendor": masked.vendor,
        "encrypted": masked.encrypted,
    }
    holder = (*python, str(_HERE / "network_holder.py"), json.dumps(settings))
    return (*holder, program, *bwrap_argv(box, begin))


def proxied_env(
    env: Mapping[str, str], hosts: Iterable[str], masked: MaskedKeys = UNMASKED
) -> dict[str, str]:
    """The environment that leads programs to the box's proxy. Keys are still in it: the process
    that holds the box takes them out.

    What listens in the box itself is reached without, unless a host of this machine is named: then
    its address is meant to lead out.
    """
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    given = {name: _PROXY for each in names for name in (each, each.lower())}
    local = any(host.rpartition(":")[0] in _LOCAL or host in _LOCAL for host in hosts)
    beside = "" if local else ",".join(_LOCAL)
    own = {**env, **given, "NO_PROXY": beside, "no_proxy": beside}
    if masked.url_variable:
        own[masked.url_variable] = "http://" + masked.url.partition("://")[2]
    return own
