"""`fleet doctor`: check what a run needs."""

import click

from fleet.cli.text import one_line
from fleet.doctor import examine

_MARK = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="The findings as a JSON array.")
def command(as_json: bool) -> int:
    """Check what a run needs and say how to mend it.

    Exit code: 0 all is well, 1 something will fail, 2 only warnings.
    """
    findings = examine()
    if as_json:
        from fleet.cli.shapes import pretty

        click.echo(pretty(findings))
    else:
        for finding in findings:
            mark, colour = _MARK[finding.severity]
            click.echo(
                f"{click.style(mark, fg=colour)} {finding.check:<12}{one_line(finding.what)}"
            )
            if finding.fix:
                click.echo(f"{'':14}{finding.fix}")
    worst = {finding.severity for finding in findings}
    return 1 if "error" in worst else 2 if "warning" in worst else 0
