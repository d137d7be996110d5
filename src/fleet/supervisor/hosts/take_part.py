"""A supervisor as one of the hosts of a shared queue: what hosts tell each other."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import cast

from fleet.config import Config
from fleet.extend import RunObserver, Tick, TickingDuty
from fleet.git.remote.trusted_remotes import warm_addresses
from fleet.home import Home, owner_file
from fleet.home.status_file import paused
from fleet.queue import open_heartbeat
from fleet.queue.protocol import Queue
from fleet.queue.sql.hosts.host_table import ask_again
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.live_lines import LivingRun
from fleet.runs import progress_json
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run
from fleet.schemas import Host
from fleet.schemas.account import read_chain
from fleet.supervisor.active.watch_accounts import AccountNoted
from fleet.supervisor.active.watch_budgets import SpendRecorded
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.hosts.heartbeat import Heartbeat
from fleet.supervisor.hosts.host_offer import (
    host_of,
    labels_of,
    machine_of,
    resting_coders,
    runnable_coders,
)
from fleet.supervisor.hosts.host_travel import HostTravel
from fleet.supervisor.hosts.share_news import (
    hear_limits,
    hear_spending,
    tell_limit,
    tell_spending,
)
from fleet.supervisor.state import (
    Happening,
    LandingEnded,
    QueueChanged,
    QueueReplaced,
    SettingsApplied,
    SupervisorState,
    TaskSettled,
)
from fleet.travel.missing_tasks import missing_tasks


class HostDuty(TickingDuty):
    """Exchanges news with the other hosts of a shared queue."""

    def __init__(self, state: SupervisorState, heartbeat: Heartbeat, travel: HostTravel) -> None:
        self._state, self._heartbeat, self._travel = state, heartbeat, travel

    def start(self) -> None:
        self._heartbeat.start()

    def tick(self) -> None:
        state = self._state
        exchange_host_news(state, self._heartbeat, ending=state.shutdown.requested)
        self._travel.tell_later(state.inspections, self._heartbeat.name)
        if self._heartbeat.server_went_back():
            state.events.append(QueueReplaced())

    def on_event(self, event: Happening) -> None:
        match event:
            case QueueChanged():
                self._heartbeat.look()
                self._travel.live.look()
            case TaskSettled(task_id) | LandingEnded(task_id):
                self._travel.note_later(task_id)
            case SettingsApplied():  # which may have what was missing for tasks
                ask = partial(_ask_again, host_id=self._heartbeat.host.id)
                self._state.queue.call(ask, lambda _: None)
            case AccountNoted(account, noted):
                tell_limit(self._state, account, noted)
            case SpendRecorded(day, entry):
                tell_spending(self._state, day, entry)
            case _:
                pass

    def close(self) -> None:
        shutdown = self._state.shutdown
        exchange_host_news(self._state, self._heartbeat, ending=shutdown.requested)
        if not shutdown.restart:
            if shutdown.patience:
                self._travel.tell_rest(self._heartbeat.name)
            self._heartbeat.close(shutdown.patience)


def host_duty(state: SupervisorState) -> HostDuty | None:
    """Make the supervisor one of the hosts of its queue; None: the queue is not shared."""
    if not state.config.shares_queue:
        return None
    heartbeat = make_heartbeat(state.home, state.config, state.log.say)
    return HostDuty(state, heartbeat, state.share(heartbeat))


class HostWords(RunObserver):
    """Has the other hosts know what people said to the agents of this one."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def tick(self, run: ActiveRun, tick: Tick) -> None:
        if (assignment := self._state.assignments.get(run.task_id)) is not None:
            self._state.keep_words(assignment)


def _ask_again(queue: Queue, *, host_id: str) -> None:
    ask_again(cast("SqlQueue", queue), host_id)  # hosts share no other kind


def host_words(state: SupervisorState) -> HostWords | None:
    """None: the queue is not shared."""
    return HostWords(state) if state.travel is not None else None


def make_heartbeat(home: Home, config: Config, say: Callable[[str, str], None]) -> Heartbeat:
    """The heartbeat of this home's supervisor."""
    opening = partial(open_heartbeat, home.path, config)
    lease = timedelta(seconds=config.lease_s)
    host, machine = host_of(home, config), machine_of(home)
    return Heartbeat(
        opening, host, machine=machine, lease=lease, say=say, missing=partial(_missing, home)
    )


def _missing(home: Home, queue: SqlQueue) -> tuple[str, ...]:
    return tuple(each.id for each in missing_tasks(home, queue))


def exchange_host_news(state: SupervisorState, heartbeat: Heartbeat, *, ending: bool) -> None:
    """Take in what other hosts told, and have the next beat tell what changed here. Raises Refused:
    another supervisor has this host's id. Raises SchemaTooNew: a later fleet migrated the queue.
    """
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
        offer = partial(_offer_coders, state, heartbeat)
        state.pool.submit(partial(runnable_coders, state.home), offer)
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


def _offer_coders(state: SupervisorState, heartbeat: Heartbeat, coders: dict[str, str]) -> None:
    """Offer the coders that a person has added or trusted since."""
    heartbeat.update(coders=coders)
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
