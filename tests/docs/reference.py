"""Writes `docs/cli.md` from the commands themselves: `python -m tests.docs.reference`."""

from collections.abc import Iterator
from pathlib import Path

import click

from fleet import config
from fleet.cli import COMMANDS
from fleet.cli.root import root

FILE = Path(__file__).parents[2] / "docs" / "cli.md"


def reference() -> str:
    """The whole page."""
    parts = [
        "# Commands and settings",
        "Made from the program by `make docs`; a test compares the two.",
        *(section for name in COMMANDS for section in _command(("fleet", name))),
        "## Settings",
        "Keys of `$FLEET_HOME/runtime.toml`. `fleet config set key=value` checks them.",
        _settings(),
    ]
    return "\n\n".join(parts) + "\n"


def _command(path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(root, info_name="fleet", **root.context_settings)
    found: click.Command = root
    for name in path[1:]:
        assert isinstance(found, click.Group)
        child = found.get_command(context, name)
        assert child is not None
        found, context = child, click.Context(child, info_name=name, parent=context)
    yield f"## `{' '.join(path)}`"
    if path == ("fleet", "bd"):
        yield "The commands of bd: `fleet bd --help`, and [the reference](reference.md#fleet-bd)."
        return
    with context:
        yield f"```\n{found.get_help(context).rstrip()}\n```"
    if isinstance(found, click.Group):
        for name in found.list_commands(context):
            yield from _command((*path, name))


def _settings() -> str:
    rows = ["| key | default | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{key.name}` | `{key.default}` | {key.about} |" for key in config.KEYS.values()]
    return "\n".join(rows)


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
    from tests.docs import api_reference

    api_reference.FILE.write_text(api_reference.page(), encoding="utf-8")
