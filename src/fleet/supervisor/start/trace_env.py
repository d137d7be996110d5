"""The environment variables by which an agent's own spans join the trace of the task."""

from urllib.parse import quote

from fleet.config.otel import OtelSettings
from fleet.runs.run_id import RunId
from fleet.runs.trace_ids import traceparent
from fleet.schemas import Lease
from fleet.supervisor.assignments import Ready

_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"


def trace_env(otel: OtelSettings, ready: Ready, lease: Lease) -> dict[str, str]:
    """The variables, but for those that the operator set (`pass_env`, an account's); none where
    [otel] is off.
    """
    if not otel.is_on:
        return {}
    run, theirs = RunId.of(lease), ready.env
    facts = {"fleet.task": run.task, "fleet.run": str(run), "fleet.project": lease.task.cwd or ""}
    attributes = ",".join(f"{name}={quote(text, safe='/')}" for name, text in facts.items() if text)
    ours = {_ATTRIBUTES: attributes}
    if ready.coder.options.otlp:
        ours |= {"OTEL_EXPORTER_OTLP_ENDPOINT": otel.base, **ready.coder.telemetry()}
        if otel.certificate:  # the first for codex, the second for claude
            names = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "NODE_EXTRA_CA_CERTS")
            ours |= dict.fromkeys(names, otel.certificate)
    kept = {name: text for name, text in ours.items() if name not in theirs}
    if _ATTRIBUTES in theirs:  # both are wanted, and of two the last counts
        kept[_ATTRIBUTES] = f"{attributes},{theirs[_ATTRIBUTES]}"
    # Not one that the supervisor was started with: that is another trace.
    return {**kept, "TRACEPARENT": traceparent(run, lease.task.created_at)}
