"""The gate of hosts: a task of a shared queue waits for a host that fits. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.schemas import Decline, Host, settings_in
from fleet.schemas.hosts.host import (
    PUSHED_CHANGES,
    missing_needs,
    needs_of,
    repository_of,
)
from fleet.schemas.task_state import Wait, WayOn

#: How the commands begin after which a host is asked again.
_TRUST = "fleet trust"


class QueueHosts(SubjectFacts, frozen=True, kw_only=True):
    """The hosts of a shared queue; None: the queue is not shared, or this host asks for itself."""

    known: tuple[Host, ...] | None = None
    #: The hosts that are up.
    up: tuple[Host, ...] = ()


class Declines(SubjectFacts, frozen=True, kw_only=True):
    """What hosts said that they lack for a task."""

    declines: tuple[Decline, ...] = ()


class HostFits(Gate):
    """A host that is up has what the task needs."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        hosts, declines = at.of(QueueHosts), start.of(Declines).declines
        if hosts.known is None:
            return None
        settings = settings_in(start.task.metadata)
        why = waits_for_host(settings, hosts.up, hosts.known, declines)
        if not why:
            return None
        if declines and _TRUST not in why:  # which asks the host again by itself
            why = f"{why}. Once that is mended: fleet retry {start.task.id}"
        return Wait(
            gate="hosts", reason=why, way_on=WayOn(verb="", line="fleet hosts"), person=True
        )


def waits_for_host(
    settings: Mapping[str, Any],
    up: Sequence[Host],
    known: Sequence[Host],
    declines: Sequence[Decline],
) -> str:
    """The reason in words, for a task with these settings. Pure."""
    needs, url = needs_of(settings), repository_of(settings)
    declined = {each.host: each.why for each in declines}
    reachable = [host for host in up if not url or url not in host.unreachable]
    fitting = [host for host in reachable if not missing_needs(needs, host.offer)]
    if PUSHED_CHANGES in needs:
        return "its changes (--with-changes) are not pushed yet"
    willing = [host for host in fitting if host.id not in declined]
    if any(not host.why_idle for host in willing):
        return ""
    if willing:
        return "waits for host " + "; ".join(f"{host.name}: {host.why_idle}" for host in willing)
    if fitting:
        whys = "; ".join(f"{host.name}: {declined[host.id]}" for host in fitting)
        return f"no host fits: {whys}"
    if not up:
        return "no host is up: start one with fleet run"
    if not reachable:
        return f"no host fits: none reaches {url}"
    return f"no host fits: {_lacking(needs, reachable, known)}"


def _lacking(needs: Sequence[str], up: Sequence[Host], known: Sequence[Host]) -> str:
    """The needs that no host which is up meets; where each is met by some, which hosts have it."""
    having = {need: [host.name for host in up if need in host.offer.has] for need in needs}
    unmet = [need for need, names in having.items() if not names]
    partly = [need for need, names in having.items() if len(names) < len(up)]
    return "; ".join(
        f"needs {_need_text(need, known)}; hosts with it: {', '.join(having[need]) or 'none up'}"
        for need in unmet or partly
    )


def _need_text(need: str, known: Sequence[Host]) -> str:
    kind, _, name = need.partition(":")
    if kind == "home":
        names = [host.name for host in known if host.id == name]
        return f"the directory of host {names[0] if names else name}"
    return {"host": f"host {name}", "coder": f"coder {name}"}.get(kind, name)
