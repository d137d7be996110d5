"""Names that files with secrets have. A snapshot does not store such a file unless git tracks it.

Pure.
"""

import posixpath
import re

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
    """Whether the name of a file says that the file holds secrets."""
    name = posixpath.basename(path)
    return _SECRET.fullmatch(name) is not None and _EXAMPLE.fullmatch(name) is None
