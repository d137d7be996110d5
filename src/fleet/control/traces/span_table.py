"""Which spans a run that is over has, and what each says. Pure.

All names stand here: `fleet.*` are fleet's own, `gen_ai.*` those of OpenTelemetry's conventions for
generative AI, which are still in development. No prompt, no text of an agent and no output of a
command is in a span.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from fleet.runs.outcome_history import Ending
from fleet.runs.run_directory import RunTrace
from fleet.runs.run_id import RunId
from fleet.runs.trace_ids import part_span, run_span, task_span, trace_id
from fleet.schemas import Check, Finished, NeedsHuman, Receipt, Released, bears_out
from fleet.schemas.outcome import named

Attribute = str | int | float | bool
#: The most characters of an attribute.
_LONGEST = 1000
_PROVIDERS = {"claude": "anthropic", "codex": "openai", "agy": "gcp.gemini"}


class TracedRun(Struct, frozen=True, kw_only=True):
    """A run that is over, as the run's records have it."""

    id: RunId
    trace: RunTrace
    receipt: Receipt
    ending: Ending


class SpanRow(Struct, frozen=True, kw_only=True):
    """One span, not yet encoded for a receiver."""

    trace: str
    id: str
    #: Empty: the span is the root of the trace.
    parent: str
    name: str
    start: datetime
    end: datetime
    #: Why the span counts as an error; empty: no error.
    error: str = ""
    attributes: Mapping[str, Attribute]


def _settlement(run: TracedRun) -> str:
    return type(run.ending.settlement).__name__.lower()


def _cost_basis(receipt: Receipt) -> str | None:
    if receipt.cost is None:
        return None
    return "cli" if receipt.cost_usd is not None else "estimated"


_Table = Mapping[str, Callable[[TracedRun], Attribute | None]]

_TASK: _Table = {
    "fleet.task": lambda run: run.id.task,
    "fleet.project": lambda run: run.receipt.project,
    "fleet.runs": lambda run: run.receipt.run,
    "fleet.settlement": _settlement,
}
_RUN: _Table = {
    "fleet.task": lambda run: run.id.task,
    "fleet.run": lambda run: str(run.id),
    "fleet.run.number": lambda run: run.receipt.run,
    "fleet.project": lambda run: run.receipt.project,
    "fleet.coder": lambda run: run.receipt.coder,
    "fleet.account": lambda run: run.receipt.account,
    "fleet.outcome": lambda run: named(run.ending.outcome),
    "fleet.verdict": lambda run: run.receipt.verdict and run.receipt.verdict.state,
    "fleet.settlement": _settlement,
    "fleet.attempts": lambda run: run.ending.attempts,
    "fleet.files_changed": lambda run: run.receipt.changes and run.receipt.changes.count,
    "fleet.cost_usd": lambda run: run.receipt.cost,
    "fleet.cost_basis": lambda run: _cost_basis(run.receipt),
}
_WORKSPACE: _Table = {
    "fleet.task": lambda run: run.id.task,
    "fleet.run": lambda run: str(run.id),
}
_AGENT: _Table = {
    **_WORKSPACE,
    "gen_ai.operation.name": lambda _: "invoke_agent",
    "gen_ai.provider.name": lambda run: _PROVIDERS.get(run.receipt.coder),
    "gen_ai.agent.name": lambda run: run.receipt.coder,
    "gen_ai.agent.version": lambda run: run.receipt.version,
    "gen_ai.request.model": lambda run: run.receipt.model,
    "gen_ai.conversation.id": lambda run: run.receipt.session_id,
    "gen_ai.usage.input_tokens": lambda run: run.receipt.usage.total - run.receipt.usage.output,
    "gen_ai.usage.output_tokens": lambda run: run.receipt.usage.output,
    "gen_ai.usage.cache_read.input_tokens": lambda run: run.receipt.usage.cache_read,
    "gen_ai.usage.cache_creation.input_tokens": lambda run: run.receipt.usage.cache_write,
    "fleet.turns": lambda run: run.receipt.turns,
    "fleet.tool_calls": lambda run: run.ending.tool_calls,
    "fleet.cpu_seconds": lambda run: run.receipt.cpu_seconds,
    "fleet.memory_bytes": lambda run: run.receipt.memory_bytes,
}
_VERIFY: Mapping[str, Callable[[Check], Attribute | None]] = {
    "fleet.verify.command": lambda check: check.command,
    "fleet.verify.code": lambda check: check.code,
    "fleet.verify.passed": lambda check: check.passed,
    "fleet.verify.timed_out": lambda check: check.timed_out,
}

#: Every name of an attribute, for the docs.
NAMES = sorted({*_TASK, *_RUN, *_WORKSPACE, *_AGENT, *_VERIFY})


def spans_of(run: TracedRun) -> list[SpanRow]:
    """The spans of a run. That of its task comes with the run that closes or blocks the task."""
    return list(_spans(run))


def _spans(run: TracedRun) -> Iterator[SpanRow]:
    trace = trace_id(run.id, run.trace.task_created)
    whole, receipt, ending = run_span(run.id), run.receipt, run.ending
    if not isinstance(ending.settlement, Released):
        yield _row(
            trace, task_span(trace), "", "task", (run.trace.task_created, ending.at),
            _values(_TASK, run),
        )  # fmt: skip
    failed = ending.counts and not bears_out(ending.settlement)
    yield _row(
        trace, whole, task_span(trace), f"run {receipt.run}", (run.trace.begun, ending.at),
        _values(_RUN, run), named(ending.outcome) if failed else "",
    )  # fmt: skip
    began = receipt.started_at
    if began is None:  # the agent's program never ran
        return
    yield _row(
        trace, part_span(run.id, "workspace"), whole, "workspace", (run.trace.begun, began),
        _values(_WORKSPACE, run),
    )  # fmt: skip
    lasted = receipt.seconds
    end = ending.at if lasted is None else began + timedelta(seconds=lasted)
    well = isinstance(ending.outcome, Finished | NeedsHuman)
    yield _row(
        trace, part_span(run.id, "agent"), whole, "agent", (began, end),
        _values(_AGENT, run), "" if well else named(ending.outcome),
    )  # fmt: skip
    for number, check in enumerate(receipt.checks, 1):
        start = check.started_at or end
        end = start + timedelta(seconds=check.seconds)
        name = f"verify {number}"
        why = "" if check.passed else check.trouble or f"code {check.code}"
        facts = {**_values(_WORKSPACE, run), **_values(_VERIFY, check)}
        yield _row(trace, part_span(run.id, name), whole, name, (start, end), facts, why)


def _row(
    trace: str,
    own: str,
    parent: str,
    name: str,
    times: tuple[datetime, datetime],
    attributes: Mapping[str, Attribute],
    error: str = "",
) -> SpanRow:
    start, end = times
    return SpanRow(
        trace=trace, id=own, parent=parent, name=name, start=start,
        end=max(start, end),  # a clock was set back
        error=error[:_LONGEST], attributes=attributes,
    )  # fmt: skip


def _values(
    table: Mapping[str, Callable[..., Attribute | None]], of: TracedRun | Check
) -> dict[str, Attribute]:
    """What is known of each name in a table."""
    found = ((name, read(of)) for name, read in table.items())
    return {
        name: value[:_LONGEST] if isinstance(value, str) else value
        for name, value in found
        if value is not None and value != ""
    }
