"""`[otel]` in runtime.toml: where traces of tasks and runs go."""

import re
from functools import partial

from msgspec import Struct, field

from fleet.config.key_kinds import check_secret_places, read_table
from fleet.errors import BadInput

TABLE = "otel"
#: The coders whose own telemetry `agents = true` passes on. codex sends much that is not about the
#: task, in traces of its own, so it has to be named.
_USUAL = ("claude",)
_ADDRESS = r"https?://[^\s@?#/]+(?:/[^\s@?#]*)?"
_HEADER = r"[A-Za-z0-9-]{1,100}"


class OtelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where spans are sent, and which agents send their own there."""

    #: The base of an OTLP/HTTP receiver: spans go to `<endpoint>/v1/traces`; empty: no traces.
    endpoint: str = ""
    #: Headers of fleet's own requests, each with the place of its value; agents do not get them.
    headers: dict[str, str] = field(default_factory=dict[str, str])
    #: A file with the certificate that vouches for an https endpoint; empty: the system's do.
    certificate: str = ""
    #: Which coders are told to send their own telemetry to the endpoint.
    agents: bool | tuple[str, ...] = True

    @property
    def is_on(self) -> bool:
        """There is somewhere to send to."""
        return bool(self.endpoint)

    @property
    def base(self) -> str:
        return self.endpoint.rstrip("/")

    def passes_on(self, coder: str) -> bool:
        """A coder's own telemetry goes to the endpoint as well."""
        named = (_USUAL if self.agents else ()) if isinstance(self.agents, bool) else self.agents
        return self.is_on and coder in named


def read(table: object) -> tuple[OtelSettings, str]:
    """The settings of a file, and what is wrong with the table; empty if nothing is."""
    return read_table(TABLE, table, OtelSettings, partial(_check, given=bool(table)))


def _check(found: OtelSettings, *, given: bool) -> None:
    """Raise BadInput for what a type cannot say."""
    if given and not re.fullmatch(_ADDRESS, found.endpoint):
        raise BadInput(f"endpoint is http://host:4318 or https://host, not {found.endpoint!r}")
    if found.base.endswith("/v1/traces"):
        raise BadInput("endpoint is the address before /v1/traces")
    if found.certificate and not found.certificate.startswith("/"):
        raise BadInput(f"certificate is the whole path of a file, not {found.certificate!r}")
    for name, place in found.headers.items():
        if not re.fullmatch(_HEADER, name):
            raise BadInput(f"{name!r} is no name of a header")
        check_secret_places({f"headers.{name}": place})
