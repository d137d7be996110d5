"""`fleet host`: add a machine, drain a host, let a host go on, give one up, forget one."""

import sys

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import print_line
from fleet.control.hosts import hosts_now
from fleet.control.hosts.add.add_host import AddedHost, HostFacts, HostPlan, Start, add_host, look
from fleet.control.hosts.add.ssh_call import destination
from fleet.errors import BadInput
from fleet.schemas.shown_text import counted, one_line


@click.group("host")
def command() -> None:
    """Look after the machines that share the queue. What each does: fleet hosts."""


@command.command("add")
@click.argument("machine", metavar="[USER@]MACHINE")
@click.option("--name", help="What the host is called. Default: as the machine is.")
@click.option("--label", "labels", multiple=True, help="What tasks may need of it: --label gpu")
@click.option("--slots", type=int, help="How many agents work there at once.")
@click.option(
    "--queue",
    metavar="ADDRESS|-",
    default="",
    help="The queue by the address that it has there; -: read from standard input. Default: as in"
    " this home.",
)
@click.option("--home", default="", help="The fleet home there. Default: ~/.fleet")
@click.option("--trust", multiple=True, metavar="URL", help="A repository that it may fetch from.")
@click.option(
    "--ssh-option", "-o", "options", multiple=True, metavar="KEY=VALUE",
    help="As -o of ssh: -o Port=2222",
)  # fmt: skip
@click.option("--service", "start", flag_value="service", default="service", hidden=True)
@click.option(
    "--detach", "start", flag_value="detached", help="Start it as a process, not as a service."
)
@click.option("--no-service", "start", flag_value="none", help="Set it up, and start nothing.")
@click.option("--dry-run", is_flag=True, help="Look whether it can be a host, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="What was found and done, as a JSON object.")
def add(
    machine: str,
    name: str | None,
    labels: tuple[str, ...],
    slots: int | None,
    queue: str,
    home: str,
    trust: tuple[str, ...],
    options: tuple[str, ...],
    start: Start,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Set up another machine over ssh as a host of this queue, and start a supervisor there.

    The machine needs Python 3.11, git, and a login that ssh gives without a question. This very
    fleet is sent there, with all that it depends on where the machine is of the same kind;
    elsewhere pip there gets the rest. ssh is for setting up alone: agents are the children of the
    supervisor there. Safe to run again, which brings the host to this version.

    A password of the queue goes there by standard input, into a file that only the login reads.
    """
    to = destination(machine, options)
    wanted = {"host_name": name, "host_labels": ", ".join(labels) or None, "max_concurrent": slots}
    settings = tuple(f"{key}={value}" for key, value in wanted.items() if value is not None)
    plan = HostPlan(queue=_given(queue), home=home, settings=settings, trust=trust, start=start)
    fleet = control.opened()
    with waiting(f"{machine}: ssh", quiet=as_json):
        facts = look(fleet, to, plan)

    def say(text: str) -> None:
        if not as_json:
            print_line(f"{machine}: {one_line(text)}")

    say(_shown(facts))
    if dry_run:
        if as_json:
            print_json({"facts": facts})
        else:
            say("it can be a host; nothing was changed")
        return
    done = add_host(fleet, to, plan, facts, say=say)
    if as_json:
        print_json(done)
    else:
        _print(machine, done)


@command.command()
@click.argument("name")
def drain(name: str) -> None:
    """Let a host finish what it has, and take nothing new until `resume`: before an upgrade."""
    host = hosts_now.drain(control.opened(), name)
    click.echo(f"{host.name} takes nothing new. To go on: fleet host resume {host.name}")


@command.command()
@click.argument("name")
def resume(name: str) -> None:
    """Let a drained host take tasks again."""
    click.echo(f"{hosts_now.resume(control.opened(), name).name} takes tasks again.")


@command.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
def lost(name: str, yes: bool) -> None:
    """Give a host up that will not come back: other hosts begin its tasks at once.

    You vouch for it that its agents are dead: without that, wait until their leases end.
    """
    if not yes:
        question = f"Is host {name} off for certain? Agents that live on there would work twice."
        click.confirm(question, abort=True)
    host, freed = hosts_now.lost(control.opened(), name)
    tasks = counted(len(freed), "task")
    click.echo(f"{host.name} is given up. {tasks} can begin elsewhere: {', '.join(freed) or '-'}")


@command.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a host that is gone and holds no task."""
    click.echo(f"{hosts_now.remove(control.opened(), name).name} is forgotten.")


def _given(queue: str) -> str:
    """The queue's address; one with a password is taken from standard input alone."""
    if queue == "-":
        return sys.stdin.readline().strip()
    user, at, _ = queue.partition("://")[2].rpartition("@")
    if at and ":" in user:
        raise BadInput(
            "the address has a password, which every process here can read on a command line",
            hint="Give it on standard input: --queue - < file",
        )
    return queue


def _shown(facts: HostFacts) -> str:
    known = "has a home on this queue" if facts.has_home else "has no home yet"
    return f"Python {facts.python}, git {facts.git}, {facts.home} ({known})"


def _print(machine: str, done: AddedHost) -> None:
    host = done.host
    if host is None:
        print_line(f"{machine} is set up. To start it there: {done.fleet} run")
        return
    has = ", ".join((*(f"host:{label}" for label in host.labels), *host.coders))
    print_line(
        f"{machine} takes part as {one_line(host.name)}, with {host.slots} slots"
        + (f"; has {one_line(has)}" if has else "; no coder's program was found there")
    )
    if done.lingers is False:
        print_line(
            f"It ends with the last login there. Against that: ssh {machine} sudo loginctl"
            " enable-linger USER"
        )
    print_line("See: fleet hosts")
