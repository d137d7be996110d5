"""Network namespaces with a bridge: a hub, and hosts with links to the hub.

No namespace has a route to the machine's own network, so that nothing leaves them.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from fleet.errors import FleetError

SUBNET = "10.213.78"
HUB = f"{SUBNET}.1"
_TIMEOUT = 20.0


def missing_for_namespaces() -> str:
    """What is missing for network namespaces here; empty if they can be made."""
    if shutil.which("ip") is None:
        return "the program ip (Debian: apt install iproute2)"
    if os.geteuid() != 0:
        return "root, which alone can make network namespaces (sudo)"
    name = f"fleet-try-{os.urandom(3).hex()}"
    tried = _ip("netns", "add", name)
    if tried.returncode != 0:
        return f"network namespaces ({tried.stderr.strip() or 'refused'})"
    _ip("netns", "delete", name)
    return ""


class DemoNetwork:
    """A hub and hosts, each host with a link to the hub."""

    def __init__(self) -> None:
        #: In the name of each namespace: a person finds the process that it belongs to.
        self._mark = str(os.getpid())
        self.hub = f"fleet-{self._mark}-hub"
        self._spaces: list[str] = []

    def make(self) -> None:
        """Make the hub with a bridge. Raises FleetError."""
        self._add(self.hub)
        self._in(self.hub, "link", "add", "bridge", "type", "bridge")
        self._in(self.hub, "addr", "add", f"{HUB}/24", "dev", "bridge")
        self._in(self.hub, "link", "set", "bridge", "up")

    def plug(self, number: int) -> tuple[str, ...]:
        """Make a namespace with a link to the hub; what runs a program there."""
        space = f"fleet-{self._mark}-{number}"
        self._add(space)
        link = ("link", "add", f"to{number}", "type", "veth", "peer", "name", "eth", "netns", space)
        self._in(self.hub, *link)
        self._in(self.hub, "link", "set", f"to{number}", "master", "bridge", "up")
        self._in(space, "addr", "add", f"{SUBNET}.{10 + number}/24", "dev", "eth")
        self._in(space, "link", "set", "eth", "up")
        return inside(space)

    def cut(self, number: int) -> None:
        """Take the link of a host down."""
        self._in(self.hub, "link", "set", f"to{number}", "down")

    def mend(self, number: int) -> None:
        self._in(self.hub, "link", "set", f"to{number}", "up")

    def remove(self) -> None:
        """Remove all namespaces with all links and all that still runs there: a git that waits for
        an answer over a cut link would outlive the supervisor.
        """
        while self._spaces:
            space = self._spaces.pop()
            for pid in _ip("netns", "pids", space).stdout.split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _ip("netns", "delete", space)

    def _add(self, space: str) -> None:
        self._spaces.append(space)
        _checked(("netns", "add", space))
        self._in(space, "link", "set", "lo", "up")

    def _in(self, space: str, *words: str) -> None:
        _checked(("-n", space, *words))


def inside(space: str) -> tuple[str, ...]:
    """What runs a program in a namespace."""
    return ("ip", "netns", "exec", space)


def _checked(words: Sequence[str]) -> None:
    done = _ip(*words)
    if done.returncode != 0:
        raise FleetError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _ip(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["ip", *words], capture_output=True, text=True, check=False, timeout=_TIMEOUT
    )
