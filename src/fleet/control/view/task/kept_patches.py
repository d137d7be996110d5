"""Patches that were read lately, by digest: a surface asks for one file after the other, and means
the patch whose list was shown, whatever the agent has changed since.
"""

import threading
from collections import OrderedDict
from hashlib import sha256

#: Bytes of all patches that are kept.
_MOST = 64 << 20


class KeptPatches:
    """The latest patches of a process. For many threads."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._patches: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def keep(self, task: str, patch: bytes) -> str:
        """Keep a patch of a task; returns the digest."""
        name = digest(patch)
        with self._lock:
            self._patches[task, name] = patch
            self._patches.move_to_end((task, name))
            while sum(map(len, self._patches.values())) > self._most and len(self._patches) > 1:
                self._patches.popitem(last=False)
        return name

    def get(self, task: str, name: str) -> bytes | None:
        """The patch of a task with this digest; None: not kept."""
        with self._lock:
            return self._patches.get((task, name))


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
