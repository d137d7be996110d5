"""A supervisor as one of the hosts of a shared queue: what hosts tell each other."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from fleet.config import Config
from fleet.git.remote.trusted_remotes import warm_addresses
from fleet.home import Home, owner_file
from fleet.home.status_file import paused
from fleet.queue import open_heartbeat
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.live_lines import LivingRun
from fleet.runs import progress_json
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run
from fleet.schemas import Host
from fleet.schemas.account import read_chain
from fleet.supervisor.hosts.heartbeat import Heartbeat, NoHosts
from fleet.supervisor.hosts.host_offer import (
    host_of,
    labels_of,
    machine_of,
    resting_coders,
    runnable_coders,
)
from fleet.supervisor.hosts.share_news import hear_limits, hear_spending
from fleet.supervisor.state import QueueChanged, SupervisorState
from fleet.travel.missing_tasks import missing_tasks


def make_heartbeat(
    home: Home, config: Config, say: Callable[[str, str], None]
) -> Heartbeat | NoHosts:
    """The heartbeat of this home's supervisor."""
    if not config.shares_queue:
        return NoHosts()
    opening = partial(open_heartbeat, home.path, config)
    lease = timedelta(seconds=config.lease_s)
    host, machine = host_of(home, config), machine_of(home)
    return Heartbeat(
        opening, host, machine=machine, lease=lease, say=say, missing=partial(_missing, home)
    )


def _missing(home: Home, queue: SqlQueue) -> tuple[str, ...]:
    return tuple(each.id for each in missing_tasks(home, queue))


def keep_part(state: SupervisorState, *, ending: bool) -> None:
    """Take in what other hosts told, and have the next beat tell what changed here. Raises Refused:
    another supervisor has this host's id. Raises SchemaTooNew: a later fleet migrated the queue.
    """
    heartbeat = state.heartbeat
    if isinstance(heartbeat, NoHosts):
        return
    if heartbeat.refused is not None:
        raise heartbeat.refused
    hear_spending(state, heartbeat)
    hear_limits(state, heartbeat)
    if heartbeat.reach.is_due:
        _look_around(state, heartbeat)
        _tell_living(state, heartbeat)
    _update_offer(state, heartbeat, ending=ending)


def _update_offer(state: SupervisorState, heartbeat: Heartbeat, *, ending: bool) -> None:
    config, unreachable = state.config, heartbeat.reach.unreachable
    if set(heartbeat.host.unreachable) - set(unreachable):
        state.events.append(QueueChanged())  # a repository may answer again
    free = max(0, config.max_concurrent - len(state.assignments))
    heartbeat.update(
        unreachable=unreachable,
        name=owner_file.host_name(config),
        labels=labels_of(config),
        slots=config.max_concurrent,
        free=0 if ending or paused(state.home) else free,
        why_idle=_why_idle(state),
    )


def _why_idle(state: SupervisorState) -> str:
    """Why this host takes no task for now, for the people of other hosts."""
    if paused(state.home):
        return "paused (fleet resume)"
    return state.backoff.why


def _look_around(state: SupervisorState, heartbeat: Heartbeat) -> None:
    """See which coders and which code are here, and which accounts have room."""
    if heartbeat.reach.coders_changed(state.home):
        # Programs tell their versions, which takes time.
        state.pool.submit(partial(runnable_coders, state.home), partial(_offer_coders, state))
    names = heartbeat.host.coders
    heartbeat.update(
        mirrors=warm_addresses(state.home.path),
        accounts=state.accounts.with_room(state.config, names, state.now()),
    )
    # With a chain to fall back on a task may find room elsewhere on this host.
    chained = read_chain(state.config.fallback)
    before, others = heartbeat.reach.resting, heartbeat.exchange.others
    resting = frozenset[str]() if chained else resting_coders(heartbeat.host, others)
    heartbeat.reach.resting = resting
    if before - resting:
        state.events.append(QueueChanged())


def _offer_coders(state: SupervisorState, coders: dict[str, str]) -> None:
    """Offer the coders that a person has added or trusted since."""
    if not isinstance(state.heartbeat, NoHosts):
        state.heartbeat.update(coders=coders)
        state.events.append(QueueChanged())


def _tell_living(state: SupervisorState, heartbeat: Heartbeat) -> None:
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


def _living(run: Run, host: Host) -> LivingRun:
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
