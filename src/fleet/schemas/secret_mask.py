"""Known secrets in a text, made unreadable. Pure.

fleet knows the value of each secret that it hands to an agent. Agents print their environment, and
CLIs print their keys in errors: where fleet copies or keeps what was printed, the value is masked.
"""

import json
from collections.abc import Iterable

#: A shorter value is no secret worth the name, and masking it would spoil words.
_SHORTEST = 8
MASK = "***"


class SecretMask:
    """The secrets of one run."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        #: The secrets as they stand in a file.
        self.values: tuple[bytes, ...] = ()
        #: A secret was met in what the agent printed.
        self.met = False
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """Mask these values too."""
        found = {value.strip() for value in values if len(value.strip()) >= _SHORTEST}
        found |= {json.dumps(value)[1:-1] for value in found} | set(self._texts)
        # Longest first: one secret may hold another.
        self._texts = sorted(found, key=len, reverse=True)
        self.values = tuple(text.encode(errors="surrogateescape") for text in self._texts)

    def text(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, MASK)
        return text

    def line(self, data: bytes) -> bytes:
        """A line of a stream, with secrets masked and noted as met."""
        for secret in self.values:
            if secret in data:
                self.met = True
                data = data.replace(secret, MASK.encode())
        return data
