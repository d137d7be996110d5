"""`fleet hosts`: the machines that share the queue, and what each does now."""

from collections import Counter
from collections.abc import Iterator

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.live_view import watch_lines
from fleet.cli.terminal_text import painted, print_line
from fleet.control.hosts.hosts_now import HostNow, hosts_now
from fleet.schemas.shown_text import duration, one_line

_COLOURS = {"up": "green", "draining": "yellow", "silent": "red"}


@click.command("hosts")
@click.option("--watch", "-w", is_flag=True, help="Show it anew, in place, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def command(watch: bool, as_json: bool) -> None:
    """Show the machines that share the queue: what each has to offer, and what it does now.

    A host is `up`, `draining` (it finishes what it has), `silent` (not heard of for 35 seconds;
    its tasks go to others when their leases end), or `gone` (its supervisor has ended).
    """
    fleet = control.opened()
    if as_json:
        print_json(hosts_now(fleet))
    elif watch:
        watch_lines(lambda: list(_lines(hosts_now(fleet))), "fleet hosts --json")
    else:
        for line in _lines(hosts_now(fleet)):
            print_line(line, 4)


def _lines(found: list[HostNow]) -> Iterator[str]:
    if not found:
        yield "No host has worked on this queue yet. To begin: fleet run"
    called = Counter(each.host.name for each in found)
    for each in found:
        host = each.host
        state = painted(each.state, _COLOURS.get(each.state, ""))
        here = " (here)" if each.here else ""
        id_ = f" {host.id}" if called[host.name] > 1 else ""
        # Leases outlive a supervisor: so do its tasks.
        used = f"{len(each.tasks)} of {host.slots} slots"
        seen = "" if each.state == "gone" else f", seen {duration(each.seen.total_seconds())} ago"
        name = painted(one_line(host.name), "bold")
        yield f"{name}{id_}{here}  {state}  {used}  fleet {one_line(host.version)}{seen}"
        if host.why_idle and each.state == "up":
            yield f"    takes nothing: {one_line(host.why_idle)}"
        has = [*(f"host:{label}" for label in host.labels), *host.coders]
        if has:
            yield f"    has {one_line(', '.join(has))}"
        if host.accounts:
            yield f"    room on {one_line(', '.join(host.accounts))}"
        if host.mirrors:
            yield f"    code of {one_line(', '.join(host.mirrors))}"
        if host.unreachable:
            yield f"    does not reach {one_line(', '.join(host.unreachable))}"
        for task in each.tasks:
            yield f"    {task.task_id}  {one_line(task.title)}"
