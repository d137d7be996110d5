"""Files that fleet does not add to work by itself: secrets, very large ones, very many. Pure."""

import posixpath
import re

from msgspec import Struct

#: Larger new files are not added.
LARGEST = 50 << 20
#: With more new files, or more bytes of them in all, no new file is added.
MOST_FILES = 20_000
MOST_BYTES = 512 << 20
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


class NewBlob(Struct, frozen=True, kw_only=True):
    """A file whose content one tree has and another has not."""

    path: str
    size: int
    #: The other tree has no file of that name.
    is_added: bool


def is_secret(path: str) -> bool:
    """Whether the name of a file says that the file holds secrets. Pure."""
    name = posixpath.basename(path)
    return _SECRET.fullmatch(name) is not None and _EXAMPLE.fullmatch(name) is None
