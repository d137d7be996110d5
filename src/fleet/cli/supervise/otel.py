"""`fleet otel`: traces of tasks and runs, for the tools of operators."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import print_line
from fleet.errors import ConfigError
from fleet.schemas.shown_text import duration, one_line

_EXAMPLE = '[otel] with endpoint = "http://127.0.0.1:4318"'


@click.group("otel", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Send traces of tasks and runs to OpenTelemetry.

    `fleet run` does this by itself where [otel] in runtime.toml names an OTLP/HTTP endpoint. It
    needs the extra `otel`.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status)


@command.command("run")
@click.option("--until-idle", is_flag=True, help="Try once to send what waits, then end.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def run(until_idle: bool, quiet: bool) -> int:
    """Send the spans of runs as they end, until Ctrl-C. `fleet run` starts this by itself.

    Exit code: 0, or with --until-idle 1 if something still waits.
    """
    from fleet.cli.supervise.side_run import run_beside
    from fleet.control.supervise.side_process import EXPORTER
    from fleet.control.traces.exporter import TraceExporter
    from fleet.control.traces.send_spans import open_sender

    fleet = _with_endpoint()

    def work(stop: Callable[[], bool], say: Callable[[str], None]) -> int | None:
        say(f"sending to {fleet.config.otel.base}")
        exporter = TraceExporter(fleet.home, open_sender(fleet).send, say)
        if until_idle:
            return 0 if exporter.send_all(_now) else 1
        exporter.run(stop, _now)
        return None

    return run_beside(fleet, EXPORTER, work, quiet=quiet)


@command.command("test")
def test() -> int:
    """Send one span, now.

    Exit code: 0 the endpoint took it, 1 it did not.
    """
    from fleet.control.traces.send_spans import open_sender
    from fleet.control.traces.span_table import SpanRow

    fleet = _with_endpoint()
    now = _now()
    row = SpanRow(
        trace=os.urandom(16).hex(), id=os.urandom(8).hex(), parent="", name="fleet otel test",
        start=now - timedelta(seconds=1), end=now, attributes={"fleet.test": True},
    )  # fmt: skip
    problem = open_sender(fleet).send([row])
    where = fleet.config.otel.base
    if problem:
        print_line(f"✗ {where}: {one_line(problem)}")
        return 1
    print_line(f"✓ {where} took a span of trace {row.trace}")
    return 0


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="The same as a JSON object.")
def status(as_json: bool) -> int:
    """Say whether an exporter runs, and what waits to be sent.

    Exit code: 0 all is well, 1 the endpoint does not take what is sent.
    """
    from fleet.control.traces.exporter import export_status

    found = export_status(control.opened())
    stuck = bool(found.last.problem)
    if as_json:
        print_json(found)
        return 1 if stuck else 0
    if not found.on:
        print_line(f"No endpoint is set. To send traces: {_EXAMPLE} in runtime.toml")
        return 0
    state = "running" if found.running else "not running (fleet run starts it)"
    print_line(f"exporter to {found.endpoint}: {state}")
    now = _now()
    if found.oldest is not None:
        since = duration((now - found.oldest).total_seconds())
        print_line(f"{found.waiting} runs wait, the oldest for {since}")
    else:
        print_line("nothing waits")
    if found.last.problem:
        print_line(f"    {one_line(found.last.problem)}", 4)
    return 1 if stuck else 0


def _now() -> datetime:
    return datetime.now(UTC)


def _with_endpoint() -> control.Control:
    fleet = control.opened()
    if not fleet.config.otel.is_on:
        raise ConfigError("no endpoint is set", hint=f"In runtime.toml: {_EXAMPLE}")
    return fleet
