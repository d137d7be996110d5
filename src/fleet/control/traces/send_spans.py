"""Spans to an OTLP/HTTP receiver, by OpenTelemetry's own exporter.

OpenTelemetry's packages are an extra and slow to load: only the exporter's process loads this
module.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fleet import __version__
from fleet.config.otel import OtelSettings
from fleet.control import Control
from fleet.control.notify.channel_settings import channel_secret
from fleet.control.traces.span_table import SpanRow
from fleet.errors import FleetError
from fleet.home import owner_file

try:
    import requests
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
except ImportError as error:
    from fleet.processes.own_distribution import how_to_add

    raise FleetError(
        f"traces need OpenTelemetry's exporter: {error}", hint=f"Add it: {how_to_add('otel')}"
    ) from error

#: Seconds that one request may take, with the SDK's own repetitions of it.
_PATIENCE = 10.0


class SpanSender:
    """Sends to the receiver of the settings. Raises FleetError for a header that is not there."""

    def __init__(self, settings: OtelSettings, owner: str) -> None:
        self._words = _FirstWords()
        log = logging.getLogger(trace_exporter.__name__)
        log.handlers, log.propagate = [self._words], False
        self._secrets = [
            channel_secret(place, f"header {name}") for name, place in settings.headers.items()
        ]
        self._exporter = trace_exporter.OTLPSpanExporter(
            endpoint=f"{settings.base}/v1/traces",
            headers=dict(zip(settings.headers, self._secrets, strict=True)),
            timeout=_PATIENCE,
            certificate_file=settings.certificate or None,
            session=_CertifiedSession(settings.certificate) if settings.certificate else None,
        )
        facts: Mapping[str, str] = {
            "service.name": "fleet",
            "service.version": __version__,
            "service.instance.id": owner or "fleet",
        }
        self._resource = Resource.create(facts)
        self._scope = InstrumentationScope("fleet", __version__)

    def send(self, rows: Sequence[SpanRow]) -> str:
        """Send spans in one request; what went wrong, or nothing."""
        self._words.text = ""
        try:
            done = self._exporter.export([self._span(row) for row in rows])
        except Exception as error:  # noqa: BLE001 - the SDK's transport may raise anything
            return self._without_secrets(f"{type(error).__name__}: {error}")
        if done is SpanExportResult.SUCCESS:
            return ""
        return self._without_secrets(self._words.text or "the receiver did not take it")

    def _span(self, row: SpanRow) -> ReadableSpan:
        return ReadableSpan(
            row.name,
            context=_context(row.trace, row.id),
            parent=_context(row.trace, row.parent) if row.parent else None,
            resource=self._resource,
            attributes=row.attributes,
            status=Status(StatusCode.ERROR, row.error) if row.error else Status(),
            start_time=_nanoseconds(row.start),
            end_time=_nanoseconds(row.end),
            instrumentation_scope=self._scope,
        )

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…") if secret else text
        return " ".join(text.split())[:500]


class _CertifiedSession(requests.Session):
    """A session that trusts the receiver's certificate, whatever REQUESTS_CA_BUNDLE says."""

    def __init__(self, certificate: str) -> None:
        super().__init__()
        self._certificate = certificate

    def merge_environment_settings(
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> Any:
        del verify
        return super().merge_environment_settings(url, proxies, stream, self._certificate, cert)


class _FirstWords(logging.Handler):
    """Keeps the SDK's first words about a failure, which name the cause; the last ones only say
    that the SDK gave up.
    """

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING and not self.text:
            self.text = record.getMessage().partition(", retrying in")[0]


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), False, TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000


def open_sender(fleet: Control) -> SpanSender:
    """A sender to the receiver that the home's settings name. Raises FleetError."""
    return SpanSender(fleet.config.otel, owner_file.read(fleet.home))
