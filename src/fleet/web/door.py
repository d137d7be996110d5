"""The rules for every request before the answer: where the request comes from, and what may be
asked.

Pure: headers in, a denial or None out. Cookies are neither set nor read: those of one port on
localhost reach every other, and agents start servers there all day.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

#: Refused as no browser page of ours would send it.
METHODS = ("GET", "HEAD", "POST", "DELETE")
API = "/api/"
#: Bytes of a request's body; no act needs more.
LARGEST_BODY = 1 << 20

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
#: On every answer.
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Denial(Struct, frozen=True, kw_only=True):
    """Why a request is not answered."""

    status: int
    error: str
    hint: str = ""


class AllowedHosts(Struct, frozen=True, kw_only=True):
    """The names that this server answers to."""

    #: `name:port`, or a name alone for the default port.
    exact: frozenset[str] = frozenset()
    #: Names with any port: what a forwarded socket is reached by.
    any_port: frozenset[str] = frozenset()

    def has(self, host: str) -> bool:
        host = host.lower()
        name, colon, port = host.rpartition(":")
        bare = name if colon and port.isdecimal() else host
        return host in self.exact or bare in self.any_port


def refused(
    method: str, path: str, headers: Mapping[str, str], hosts: AllowedHosts
) -> Denial | None:
    """Why a request is refused, whatever the key; None: the key is looked at next."""
    host = headers.get("host", "")
    if not hosts.has(host):
        return Denial(
            status=421,
            error=f"this server does not answer to {host[:80]!r}",
            hint="Name it when you start the page: fleet web --allow-host NAME",
        )
    if method not in METHODS:
        return Denial(status=405, error=f"{method[:20]} is not a method of this server")
    origin = headers.get("origin")
    if origin is not None and not _is_ours(origin, host):
        return Denial(status=403, error="the request comes from another page")
    site = headers.get("sec-fetch-site", "none")
    if site not in ("same-origin", "none") and not _is_link(method, path, headers):
        return Denial(status=403, error="the request comes from another page")
    if path.startswith(API) and method in ("POST", "DELETE"):
        return _refused_write(method, headers)
    return None


def _is_ours(origin: str, host: str) -> bool:
    """The origin is that of the page: the same host and port as in the address."""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _is_link(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """A person followed a link to the page, whose shell holds no data."""
    return (
        method in ("GET", "HEAD")
        and not path.startswith(API)
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _refused_write(method: str, headers: Mapping[str, str]) -> Denial | None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method == "POST" and kind != "application/json":
        return Denial(status=415, error="a request that changes something is application/json")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > LARGEST_BODY:
        return Denial(status=413, error=f"a request has at most {LARGEST_BODY} bytes")
    if headers.get("transfer-encoding"):
        return Denial(status=411, error="a request says how long it is")
    return None


def bearer_key(headers: Mapping[str, str]) -> str:
    """The key of a request; empty: none. Never from the address, which logs keep."""
    kind, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""
