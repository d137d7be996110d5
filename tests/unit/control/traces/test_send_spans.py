"""Spans in the format of OTLP, to a receiver that is there, refuses, or is none."""

import pytest

from fleet.config.otel import OtelSettings
from fleet.control.traces import send_spans
from fleet.control.traces.span_table import SpanRow
from fleet.errors import FleetError
from tests.builders import NOW
from tests.otlp_receiver import OtlpReceiver, make_certificate

ROW = SpanRow(
    trace="0af7651916cd43dd8448eb211c80319c", id="b7ad6b7169203331", parent="00f067aa0ba902b7",
    name="run 1", start=NOW, end=NOW, error="Failed (auth)", attributes={"fleet.run.number": 1},
)  # fmt: skip


@pytest.fixture
def receiver():
    receiver = OtlpReceiver()
    yield receiver
    receiver.close()


def test_a_span_arrives_as_it_is(receiver):
    """With its own ids and times, which the SDK would otherwise make."""
    sender = send_spans.SpanSender(OtelSettings(endpoint=f"{receiver.url}/"), "me")
    assert sender.send([ROW]) == ""
    (span,) = receiver.spans
    assert (span.trace, span.id, span.parent) == (ROW.trace, ROW.id, ROW.parent)
    assert span.start == span.end == int(NOW.timestamp()) * 10**9
    assert span.error
    assert span.attributes == {"fleet.run.number": 1}
    assert span.resource["service.instance.id"] == "me"


def test_what_is_wrong_is_told_without_the_key(receiver, monkeypatch):
    """A person reads it in `fleet otel`, and an agent may read the log."""
    monkeypatch.setenv("OTLP_KEY", "Not Found")
    receiver.status = 404
    keys = {"x-key": "env:OTLP_KEY"}
    settings = OtelSettings(endpoint=receiver.url, headers=keys)
    problem = send_spans.SpanSender(settings, "me").send([ROW])
    assert "404" in problem
    assert "Not Found" not in problem
    assert receiver.headers[0]["x-key"] == "Not Found"


def test_an_endpoint_that_is_none_is_told_with_its_cause(receiver, monkeypatch):
    """Not only that all repetitions failed."""
    monkeypatch.setattr(send_spans, "_PATIENCE", 2.0)  # it repeats after a second
    receiver.close()
    problem = send_spans.SpanSender(OtelSettings(endpoint=receiver.url), "me").send([ROW])
    assert "refused" in problem


def test_a_header_that_is_not_there_is_an_error(receiver, monkeypatch):
    """Nothing is sent without what the operator wanted it sent with."""
    monkeypatch.delenv("OTLP_KEY", raising=False)
    settings = OtelSettings(endpoint=receiver.url, headers={"x-key": "env:OTLP_KEY"})
    with pytest.raises(FleetError, match="header x-key"):
        send_spans.SpanSender(settings, "me")


def test_an_endpoint_with_a_certificate_of_its_own(tmp_path):
    """It is sent to where the settings name the certificate, and told as what it is elsewhere."""
    file = make_certificate(tmp_path / "receiver.pem")
    receiver = OtlpReceiver(tls=file)
    settings = OtelSettings(endpoint=receiver.url, certificate=str(file))
    assert send_spans.SpanSender(settings, "me").send([ROW]) == ""
    assert len(receiver.spans) == 1
    for other in ("", str(tmp_path / "none.pem")):
        settings = OtelSettings(endpoint=receiver.url, certificate=other)
        assert "certificate" in send_spans.SpanSender(settings, "me").send([ROW]).lower()
    assert len(receiver.spans) == 1
    receiver.close()
