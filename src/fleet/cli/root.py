"""`fleet` alone: the overview, and the way to each command."""

import os
from collections.abc import Sequence
from importlib import import_module

import click

from fleet import __version__
from fleet.cli import COMMANDS
from fleet.cli.fast_path import QUICK, as_click
from fleet.cli.terminal_text import print_line

#: What a shell sets that asks click how a line could go on.
_COMPLETES = "_FLEET_COMPLETE"
#: More characters than the first sentence of any command's help has.
_WHOLE = 1000


class LazyGroup(click.Group):
    """A group that imports a command only to call it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        del ctx
        module = import_module(f"fleet.cli.{COMMANDS[cmd_name][0]}")
        if cmd_name in QUICK:
            return as_click(module.QUICK)
        command: click.Command = module.command if cmd_name != "bd" else module.bd_command()
        if isinstance(command, click.Group):
            for each in command.commands.values():  # click would cut a long sentence in its middle
                each.short_help = each.get_short_help_str(limit=_WHOLE)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"There is no command {args[0]!r}. {_meant(args)}", ctx)
        return super().resolve_command(ctx, args)


def _meant(args: list[str]) -> str:
    """The command that a person may have meant."""
    from difflib import get_close_matches

    from fleet.bd.command_line import find_verb

    if find_verb(args[0]) is not None:
        return f"It is a command of the tracker: fleet bd {args[0]}"
    near = get_close_matches(args[0], COMMANDS, n=1)
    return f"Did you mean {near[0]!r}?" if near else "See: fleet --help"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="fleet %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback with an error (give it first).")
def root(debug: bool) -> None:
    """Run many coding agents in parallel from one task queue.

    \b
    fleet init                      once
    fleet bd create "Fix the bug"   in the project's directory
    fleet run                       work through the queue
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    del debug  # __main__ reads the flag before click starts, so that it covers start-up too


def fleet(args: Sequence[str]) -> int:
    """Run one command line and return the exit code."""
    if not args and _COMPLETES not in os.environ:
        from fleet.cli.inspect.next_steps import print_next_steps

        print_next_steps()
        return 0
    try:
        # Click does not know NO_COLOR; None leaves the choice to the stream.
        colour = False if os.environ.get("NO_COLOR") else None
        answer = root.main(
            args=_usual(args), prog_name="fleet", standalone_mode=False, color=colour
        )
    except click.exceptions.NoArgsIsHelpError as missing:  # `fleet schedule` and nothing more
        print_line(missing.format_message(), err=True)
        return missing.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        _show_error(error)
        return error.exit_code
    except click.Abort:
        return 130
    return answer if isinstance(answer, int) else 0


def _show_error(error: click.ClickException) -> None:
    """Say what is wrong with a command line, broken between words on a terminal."""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        print_line(error.ctx.get_usage(), err=True)
        print_line(f"Try '{error.ctx.command_path} --help' for help.\n", err=True)
    print_line(f"Error: {error.format_message()}", err=True)


def _usual(args: Sequence[str]) -> list[str]:
    """`fleet help`, `fleet help COMMAND` and `fleet version` as the flags that they stand for."""
    match args:
        case ["help", *rest]:
            return [*rest, "--help"]
        case ["version"]:
            return ["--version"]
        case _:
            return list(args)
