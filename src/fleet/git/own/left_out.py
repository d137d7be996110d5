"""Files that a snapshot does not store, each with a mark that shows a change of the file.

Not stored are new files that are too large, cannot be read, bear the name of a secret, or are too
many together.
"""

import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Mapping

from fleet.files import lenient_read

#: Larger files are marked by their size and times.
_LARGEST = 1 << 20
_CONTENT = "content:"
_STAT = "stat:"
#: Names that files with secrets have.
_SECRET = re.compile(
    r"\.env|\.env[._-].+|.+\.env"
    r"|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[^.]*"
    r"|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd"
    r"|credentials(?:\.json)?|service[-_]account.*\.json|secrets?\.(?:json|ya?ml|toml|env)",
    re.IGNORECASE,
)
#: What such a name ends with when the file is an example.
_EXAMPLE = re.compile(r".+\.(?:example|sample|template|dist|tpl|md)", re.IGNORECASE)


def is_secret(path: str) -> bool:
    """Whether the name of a file says that the file holds secrets. Such a file is not stored unless
    git tracks it. Pure.
    """
    name = posixpath.basename(path)
    return _SECRET.fullmatch(name) is not None and _EXAMPLE.fullmatch(name) is None


def mark_of(path: str, *, like: str = _CONTENT) -> str:
    """A mark of a file at this moment, made as the mark `like` was; empty if there is no file."""
    try:
        about = os.lstat(path)
    except OSError:
        return ""
    if like.startswith(_CONTENT) and stat.S_ISREG(about.st_mode):
        content = lenient_read.read(path, _LARGEST)
        if content is not None and content.whole:
            return f"{_CONTENT}{hashlib.sha256(content.data).hexdigest()}"
    # The time of the last change of the entry cannot be set back.
    return f"{_STAT}{about.st_mode:o}:{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"


def quick_mark(path: str) -> str:
    """A mark of a file at this moment by its size and times: the file is not read."""
    return mark_of(path, like=_STAT)


def encode(left_out: Mapping[str, str]) -> bytes:
    """The marks by name, as they are stored beside a snapshot. Pure."""
    return b"".join(os.fsencode(f"{mark}\t{name}\0") for name, mark in left_out.items())


def decode(data: bytes) -> dict[str, str]:
    """The reverse of `encode`. Pure."""
    entries = (entry.partition(b"\t") for entry in data.split(b"\0") if entry)
    return {os.fsdecode(name): mark.decode(errors="replace") for mark, _, name in entries}
