"""Which hosts a strict box leads to, and at which of their addresses. Pure.

Run without fleet on the path too, so it imports nothing of fleet.
"""

from __future__ import annotations

#: The ports of a host that is named without one.
_PORTS = frozenset({80, 443})


class HostRules:
    """The hosts of one box: `name`, `*.name` for all hosts below, each with `:port` or without."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self._hosts = tuple(_read(host) for host in hosts)

    def names(self, host: str, port: int) -> bool:
        """Whether the box leads to this host and port."""
        wanted = _plain(host)
        return any(
            _is(wanted, name) and (port == only if only else port in _PORTS)
            for name, only in self._hosts
        )


def may_connect(host: str, address: str) -> bool:
    """A name must lead to an address of the public internet: one that leads to this machine or
    network would open what is not meant. An address in the rules is meant.
    """
    import ipaddress  # only where a connection is made

    where = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(where, ipaddress.IPv6Address) and where.ipv4_mapped:
        where = where.ipv4_mapped
    return _plain(host) in (str(where), "localhost") or where.is_global


def _read(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal():
        return _plain(name), int(port)
    return _plain(host), 0


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def _is(host: str, name: str) -> bool:
    if name.startswith("*."):
        return host.endswith(name[1:]) and host != name[2:]
    return host == name
