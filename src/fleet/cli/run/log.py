"""`fleet log`: the supervisor's newest log."""

from functools import partial

import click

from fleet import control
from fleet.cli.print_file import put_lines
from fleet.control.tasks.task_files import followed_log, last_lines, newest_log, read_whole
from fleet.errors import BadInput


# `fleet log -5` looks like an option: unknown options reach `_positive`, which explains N.
@click.command("log", context_settings={"ignore_unknown_options": True})
@click.argument("lines", metavar="[N]", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on as more is written, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="The JSON lines of the file.")
def command(lines: str | None, follow: bool, as_json: bool) -> None:
    """Print the supervisor's newest log file ($FLEET_HOME/logging/fleet-<date>.jsonl).

    N prints only its last N lines. Each is a time and a sentence; --json prints the lines as the
    file has them.
    """
    put = partial(put_lines, raw=as_json)
    count = None if lines is None else _positive(lines)
    fleet = control.opened()
    path = newest_log(fleet)
    if follow:
        try:
            put(followed_log(fleet, path, count))
        except KeyboardInterrupt:
            return
    elif count is None:
        put(read_whole(path))
    else:
        put([last_lines(path, count)])


def _positive(word: str) -> int:
    if not word.isascii() or not word.isdigit() or int(word) == 0:
        raise BadInput(
            f"N must be a positive whole number, not {word!r}",
            hint="The last 200 lines: fleet log 200. All of them: fleet log",
        )
    return int(word)
