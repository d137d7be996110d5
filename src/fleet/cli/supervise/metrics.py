"""`fleet metrics`: the figures of a home, for Prometheus."""

from datetime import datetime
from pathlib import Path

import click

from fleet import control
from fleet.cli.terminal_text import print_line


@click.command("metrics")
@click.option(
    "--textfile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file in one step, for node_exporter's textfile collector.",
)
def command(textfile: Path | None) -> None:
    """Print the figures of this home in the text format of Prometheus.

    An autoscaler follows fleet_ready_tasks and fleet_slots; docs/operations.md has alert rules.
    """
    from fleet.control.watch.metrics import FleetMetrics

    figures, now = FleetMetrics(control.opened()), datetime.now().astimezone()
    if textfile is None:
        click.echo(figures.text(now).decode(), nl=False)
        return
    figures.write_textfile(textfile, now)
    print_line(f"Wrote {textfile}")
