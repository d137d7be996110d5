"""Gathers how the runs of this host stand, for people on other hosts."""

from typing import TYPE_CHECKING

from fleet.queue.sql.hosts.living_runs import LivingRun
from fleet.runs import progress_json
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run

if TYPE_CHECKING:
    from fleet.schemas import Host
    from fleet.supervisor.hosts.heartbeat import Heartbeat
    from fleet.supervisor.state import SupervisorState


def tell_living(state: "SupervisorState", heartbeat: "Heartbeat") -> None:
    """Have the next beat tell of each run that changed; one whose agent asks, at once."""
    known, asks = heartbeat.exchange.told_runs, False
    fresh: dict[str, LivingRun] = {}
    for run in state.assignments.living():
        living = _living(run, heartbeat.host)
        fresh[living.task_id] = living
        before = known.get(living.task_id)
        if living != before:
            heartbeat.exchange.runs.append(living)
            asks |= living.asked is not None and (before is None or before.asked != living.asked)
    heartbeat.exchange.told_runs = fresh
    if asks:
        heartbeat.look()


def _living(run: Run, host: "Host") -> LivingRun:
    started, spec = run.started(), run.known_spec()
    asked = asked_json.open_question(run.task_dir)
    waits = asked is not None and asked.run == run.number and asked.parked_at is None
    return LivingRun(
        task_id=run.task_id,
        run=run.number,
        host=host.id,
        host_name=host.name,
        account=spec.account if spec else "",
        started_at=started.at if started else None,
        progress=progress_json.read(run),
        asked=asked if waits else None,
    )
