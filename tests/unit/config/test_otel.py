"""`[otel]`: what is accepted, and what is refused with its place."""

import pytest

from fleet.config import runtime_toml
from fleet.errors import ConfigError


def test_an_endpoint_turns_traces_on(tmp_path):
    """Claude's own telemetry goes along; codex's only where it is named."""
    path = tmp_path / "runtime.toml"
    assert not runtime_toml.checked("", path).otel.is_on
    found = runtime_toml.checked('[otel]\nendpoint = "http://127.0.0.1:4318/"\n', path).otel
    assert found.base == "http://127.0.0.1:4318"
    assert found.passes_on("claude")
    assert not found.passes_on("codex")
    named = runtime_toml.checked('[otel]\nendpoint = "https://x"\nagents = ["codex"]\n', path).otel
    assert (named.passes_on("claude"), named.passes_on("codex")) == (False, True)
    off = runtime_toml.checked('[otel]\nendpoint = "https://x"\nagents = false\n', path).otel
    assert not off.passes_on("claude")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("agents = true", "endpoint is http://host:4318"),
        ('endpoint = "localhost:4318"', "endpoint is http://host:4318"),
        ('endpoint = "https://me:secret@host"', "endpoint is http://host:4318"),
        ('endpoint = "http://h/v1/traces"', "before /v1/traces"),
        ('endpoint = "http://h"\nendpont = "x"', "unknown field `endpont`"),
        ('endpoint = "http://h"\nheaders = { "a b" = "env:X" }', "no name of a header"),
        ('endpoint = "http://h"\nheaders = { Authorization = "Bearer 5d1f" }', "env:NAME"),
        ('endpoint = "http://h"\nagents = "all"', "otel.agents"),
        ('endpoint = "https://h"\ncertificate = "ca.pem"', "whole path"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path, lines, problem):
    """And a key that stands where its place belongs is not repeated."""
    with pytest.raises(ConfigError) as refused:
        runtime_toml.checked(f'model = "sonnet"\n[otel]\n{lines}\n', tmp_path / "runtime.toml")
    assert "line 2: otel cannot be used" in refused.value.message
    assert problem in refused.value.message
    assert "5d1f" not in refused.value.message
