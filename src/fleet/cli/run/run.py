"""`fleet run`: the supervisor."""

import sys
from functools import partial

import click

from fleet import control
from fleet.cli.live_view import waiting
from fleet.cli.task_ids import coder_names
from fleet.cli.terminal_text import AFTER_TIME, print_line
from fleet.errors import BadInput
from fleet.schemas.units import span

#: The exit code of a run until idle that leaves something for a person.
NEEDS_YOU = 10


@click.command("run")
@click.option(
    "--coder",
    help="The coder of tasks that name none, instead of the configured one.",
    shell_complete=coder_names,
)
@click.option("--until-idle", is_flag=True, help="End once nothing runs and nothing is waiting.")
@click.option(
    "--max-idle",
    metavar="SPAN",
    help="With --until-idle: end only after this long without work, like 5m.",
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing; the log has it all.")
@click.option("--detach", "-d", is_flag=True, help="Run in the background, without this terminal.")
def command(
    coder: str | None, until_idle: bool, max_idle: str | None, quiet: bool, detach: bool
) -> int:
    """Work through the queue: start an agent for each ready task, and look after it.

    Ctrl-C stops the agents and gives their tasks back; a second one does it at once. With
    --detach it is `fleet shutdown` that does so, and `fleet log -f` shows what happens.

    With --until-idle the exit code tells how it went: 0 nothing came up that needs you, 10 tasks
    of this run ended with a question, an approval or a trouble that is yours, or wait to be allowed
    to begin (fleet status, fleet questions, fleet land). What needed you before does not count. If
    the queue is damaged or gone, it ends with 5 once no agent works.
    """
    fleet = control.opened()
    if coder is not None:
        fleet.check_coder(coder)
    if max_idle is not None and not until_idle:
        raise BadInput("--max-idle works with --until-idle only")
    rest = span(max_idle) if max_idle is not None else 0.0
    if detach:
        ends = ("--until-idle",) if until_idle else ()
        waits = ("--max-idle", max_idle) if max_idle is not None else ()
        _detached(fleet, (*_coder_flag(coder), *ends, *waits), quiet=quiet)
        return 0
    from fleet.control.supervise.restart import start_over
    from fleet.supervisor.loop import supervise

    echo = None if quiet else partial(print_line, indent=AFTER_TIME)
    end = supervise(
        fleet.home, fleet.config, coder=coder, until_idle=until_idle, max_idle=rest, echo=echo
    )
    if end.restart:
        # `fleet restart`: the same command line starts a new supervisor, which adopts the agents.
        start_over(sys.argv[1:])
    if not until_idle or not (end.blocked or end.waits_for_person):
        return 0
    if end.blocked and not quiet:
        ids = ", ".join(sorted(end.blocked))
        print_line(f"For you to look at: {ids} (fleet status)")
    return NEEDS_YOU


def _coder_flag(coder: str | None) -> tuple[str, ...]:
    return ("--coder", coder) if coder else ()


def _detached(fleet: control.Control, flags: tuple[str, ...], *, quiet: bool) -> None:
    from fleet.control.supervise.detach import detach

    with waiting("the supervisor begins", quiet=quiet):
        holder = detach(fleet, flags)
    if not quiet:
        print_line(
            f"Supervising in the background: process {holder.who.pid}. See: fleet status,"
            " fleet log. To end it: fleet shutdown"
        )
