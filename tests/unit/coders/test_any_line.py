"""No line, whatever is on it, breaks a coder, the fold, or the file that events are kept in."""

import json
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.coders import make, toml
from fleet.coders.base import Coder
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Event
from tests.conftest import often
from tests.fakes import run_agy
from tests.streams import READ_AT, lines, recorded

EXAMPLES = Path(__file__).parents[3] / "docs" / "coders"

AGY_ENDINGS = ("success", "denied", "timeout", "quota")
READERS = ["claude", "codex", "rollout", "agy", "gemini", "opencode"]


@cache
def coder(reader: str) -> Coder:
    if reader in ("gemini", "opencode"):
        return toml.load(EXAMPLES / f"{reader}.toml")()
    return make("codex" if reader == "rollout" else reader)


@cache
def known_lines(reader: str) -> list[str]:
    if reader == "rollout":
        return lines("codex", "rate_headers_ok.rollout")
    if reader == "agy":
        runs = [run_agy(name, "--output-format=stream-json", "-p=x") for name in AGY_ENDINGS]
        return [line for run in runs for line in run.stdout.split("\n") if line]
    return sorted({line for name in recorded(reader) for line in lines(reader, name)})


def reads(reader: str, *raw: str) -> RunTotals:
    reading = RunTotals()
    for line in raw:
        event = coder(reader).read(line, READ_AT, second=reader == "rollout")
        reading.add(event)
        if event is not None:
            kept = msgspec.json.encode(event)
            assert msgspec.json.decode(kept, type=Event).kind == event.kind
        if reader != "rollout":
            # `read` guards against faults of any plugin; fleet's own coders must not need it.
            coder(reader).normalize_event(line)
    coder(reader).outcome(reading, 1, None)
    return reading


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def spoilt(draw, known: list[str]) -> str:
    """A line that a CLI printed, with one of its values changed for something else."""
    whole = json.loads(draw(st.sampled_from(known)))
    here = whole
    while True:
        keys = list(here) if isinstance(here, dict) else range(len(here))
        key = draw(st.sampled_from(keys))
        deeper = isinstance(here[key], dict | list) and here[key]
        if not deeper or draw(st.booleans()):
            break
        here = here[key]
    here[key] = draw(ANY_JSON)
    return json.dumps(whole)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=often(25, 60), deadline=None)
@given(data=st.data())
def test_a_spoilt_line_breaks_nothing(reader, data):
    """A field of another type is ordinary after an update of the CLI."""
    reads(reader, data.draw(spoilt(known_lines(reader))))


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=often(25, 60), deadline=None)
@given(data=st.data())
def test_a_cut_line_breaks_nothing(reader, data):
    """A kill cuts the last line anywhere."""
    line = data.draw(st.sampled_from(known_lines(reader)))
    reads(reader, line[: data.draw(st.integers(0, len(line)))])


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=often(25, 60), deadline=None)
@given(raw=st.binary(max_size=200))
def test_noise_breaks_nothing(reader, raw):
    """A tool may write anything to the agent's stdout."""
    reads(reader, raw.decode("utf-8", "replace"), raw.decode("latin-1"))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        '{"type": "result", "x": ' + "[" * 250 + "]" * 250 + "}",
        '{"type": "result", "total_cost_usd": 1e999, "num_turns": NaN}',
        '{"type": "assistant", "message": {"usage": {"input_tokens": ' + "9" * 5000 + "}}}",
        '{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1e18}}',
        '{"type": "error", "message": "half a surrogate \\ud800"}',
        '{"type": "error", "message": "a raw\x01letter"}',
        "null",
        "[]",
        '"text"',
        "\ud800",
    ],
)  # fmt: skip
def test_an_extreme_line_breaks_nothing(reader, line):
    """Depth, size and numbers out of any range are no reason to lose a run."""
    reads(reader, line)


ABSURD = ["-5", "1e30", str(10**30), "-" + str(10**400), "1e999", "NaN", '"7"', "true", "null"]


@pytest.mark.parametrize("value", ABSURD)
def test_absurd_usage_counts_for_nothing(value):
    """Neither a cost beyond all reason, nor tokens below nought or beyond all reason."""
    answer = f'{{"input_tokens": {value}, "output_tokens": 5, "cache_read_input_tokens": {value}}}'
    models = f'{{"m": {{"inputTokens": {value}, "outputTokens": 5, "contextWindow": {value}}}}}'
    while_it_lives = reads(
        "claude", f'{{"type": "assistant", "message": {{"id": "m1", "usage": {answer}}}}}'
    )
    assert (while_it_lives.tokens.usage.total, while_it_lives.tokens.cost_usd) == (5, None)
    assert 0 <= (while_it_lives.tokens.context_tokens or 0) <= 10**9
    ended = reads(
        "claude",
        f'{{"type": "result", "total_cost_usd": {value}, "modelUsage": {models},'
        f' "num_turns": {value}}}',
    )
    assert (ended.tokens.usage.total, ended.tokens.cost_usd) == (5, None)


def test_a_bad_line_and_an_unknown_one_are_counted_apart():
    """Noise is ordinary; a line of an unknown type means that the CLI has changed."""
    reading = reads("claude", "noise", '{"type": "brand_new"}', "   ", '{"type": "keep_alive"}')
    assert (reading.kinds["bad"], reading.kinds["unknown"], reading.events) == (1, 1, 3)


def test_a_raw_line_break_inside_a_string_is_read():
    """One CLI writes control letters into its JSON as they are."""
    event = make("agy").normalize_event(
        '{"event": "result", "result": {"error": "quota\t\x0bout"}}'
    )
    assert event.reason == "rate_limit"
