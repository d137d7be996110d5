"""Has the spans of an agent join the trace of its task, where [otel] is on."""

from urllib.parse import quote

from fleet.config.otel import OtelSettings
from fleet.extend import RunObserver
from fleet.runs.run_directory import RunTrace
from fleet.runs.run_id import RunId
from fleet.runs.trace_ids import traceparent
from fleet.supervisor.assignments import RunStart
from fleet.supervisor.state import SupervisorState

_TRACE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"


class RunTracing(RunObserver):
    """Adds the variables of a trace to the agent's environment."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def starting(self, start: RunStart) -> None:
        otel = self._state.config.otel
        if otel.is_on:
            start.env |= _trace_env(otel, start)
            created = start.lease.task.created_at
            start.trace = RunTrace(task_created=created, begun=start.ready.at)


def _trace_env(otel: OtelSettings, start: RunStart) -> dict[str, str]:
    """The variables of a trace, but for those that the operator set (`pass_env`, an account's)."""
    ready, lease = start.ready, start.lease
    run, theirs = RunId.of(lease), start.env
    facts = {"fleet.task": run.task, "fleet.run": str(run), "fleet.project": lease.task.cwd or ""}
    attributes = ",".join(f"{name}={quote(text, safe='/')}" for name, text in facts.items() if text)
    ours = {_TRACE_ATTRIBUTES: attributes}
    if ready.coder.options.otlp:
        ours |= {"OTEL_EXPORTER_OTLP_ENDPOINT": otel.base, **ready.coder.telemetry()}
        if otel.certificate:  # the first for codex, the second for claude
            names = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "NODE_EXTRA_CA_CERTS")
            ours |= dict.fromkeys(names, otel.certificate)
    kept = {name: text for name, text in ours.items() if name not in theirs}
    if _TRACE_ATTRIBUTES in theirs:  # both are wanted, and of two the last counts
        kept[_TRACE_ATTRIBUTES] = f"{attributes},{theirs[_TRACE_ATTRIBUTES]}"
    # Not one that the supervisor was started with: that is another trace.
    return {**kept, "TRACEPARENT": traceparent(run, lease.task.created_at)}
