"""Network namespaces with a bridge, made and removed by the tests themselves.

The hub holds the bridge and the server; each host has a veth pair to it. Nothing leaves them: no
namespace has a route to the network of the machine.
"""

import os
import shutil
import subprocess
from uuid import uuid4

#: Addresses of the tests' own: no packet of theirs leaves the hub.
SUBNET = "10.213.77"
HUB = f"{SUBNET}.1"


def missing_tool():
    """Why no namespaces can be made here; empty if they can."""
    if shutil.which("ip") is None:
        return "ip"
    if os.geteuid() != 0:
        return "root (for network namespaces)"
    name = f"fleet-try-{uuid4().hex[:6]}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "network namespaces"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return ""


class Network:
    """A hub and the hosts that are plugged into it."""

    def __init__(self):
        self.mark = uuid4().hex[:6]
        self.hub = f"fleet-{self.mark}-hub"
        self._spaces = []
        self._make(self.hub)
        self._in(self.hub, "link", "add", "bridge", "type", "bridge")
        self._in(self.hub, "addr", "add", f"{HUB}/24", "dev", "bridge")
        self._in(self.hub, "link", "set", "bridge", "up")

    def plug(self, number):
        """A new namespace with a link to the hub; its name."""
        space = f"fleet-{self.mark}-{number}"
        self._make(space)
        peer = f"to{number}"
        self._in(
            self.hub, "link", "add", peer, "type", "veth", "peer", "name", "eth", "netns", space
        )
        self._in(self.hub, "link", "set", peer, "master", "bridge", "up")
        self._in(space, "addr", "add", f"{SUBNET}.{10 + number}/24", "dev", "eth")
        self._in(space, "link", "set", "eth", "up")
        return space

    def cut(self, number):
        """Take the link of a host down."""
        self._in(self.hub, "link", "set", f"to{number}", "down")

    def mend(self, number):
        self._in(self.hub, "link", "set", f"to{number}", "up")

    def slow(self, number, bits_a_second):
        """Let only so much through to a host; False: this machine cannot."""
        words = ("tc", "-n", self.hub, "qdisc", "add", "dev", f"to{number}", "root", "tbf")
        limit = ("rate", str(bits_a_second), "burst", "256kb", "latency", "200ms")
        try:
            done = subprocess.run([*words, *limit], capture_output=True, check=False)
        except FileNotFoundError:
            return False
        return done.returncode == 0

    def close(self):
        for space in self._spaces:
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)

    def _make(self, space):
        subprocess.run(["ip", "netns", "add", space], check=True)
        self._spaces.append(space)
        self._in(space, "link", "set", "lo", "up")

    def _in(self, space, *words):
        subprocess.run(["ip", "-n", space, *words], check=True, capture_output=True)


def inside(space, *argv):
    """The command line that runs a program in a namespace."""
    return ["ip", "netns", "exec", space, *map(str, argv)]
