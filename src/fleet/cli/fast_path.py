"""Commands that must start fast: declared as plain values and run without click where the command
line is simple; click does everything else (help, completion, usage errors).
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fleet.bd.pflag import Flag, FlagError, Parsed, parse
from fleet.cli import COMMANDS

if TYPE_CHECKING:
    import click

#: The commands that are declared with `Quick`, by module of `fleet.cli`.
QUICK = ("ready", "show", "status", "tasks")


class Quick(Struct, frozen=True, kw_only=True):
    """A command of few flags. `run` returns the exit code."""

    name: str
    about: str
    run: Callable[[Parsed], int]
    flags: Sequence[Flag] = ()
    #: The names of the command's words, all of them required.
    words: tuple[str, ...] = ()
    #: The last word may stand several times.
    several: bool = False

    def takes(self, count: int) -> bool:
        """Whether a line may have this many words."""
        return count >= len(self.words) if self.several else count == len(self.words)


def quickly(args: Sequence[str]) -> int | None:
    """Run a simple command line; returns the exit code, None: the line is for click."""
    known = read_quickly(args)
    return known[0].run(known[1]) if known is not None else None


def read_quickly(args: Sequence[str]) -> tuple[Quick, Parsed] | None:
    """Read a simple command line; None: the line is for click."""
    if not args or args[0] not in QUICK:
        return None
    quick: Quick = import_module(f"fleet.cli.{COMMANDS[args[0]][0]}").QUICK
    try:
        line = parse(quick.flags, args[1:])
    except FlagError:
        return None
    return (quick, line) if quick.takes(len(line.words)) else None


def as_click(quick: Quick) -> "click.Command":
    """The command for click, which prints help and refuses bad lines."""
    import click

    from fleet.cli.task_ids import completer

    params: list[click.Parameter] = [
        click.Argument(
            [word],
            required=True,
            nargs=-1 if quick.several and word == quick.words[-1] else 1,
            shell_complete=completer() if word == "id" else None,
        )
        for word in quick.words
    ]
    for flag in quick.flags:
        names = [f"--{flag.name}", *([f"-{flag.short}"] if flag.short else [])]
        kind = {"switch": click.BOOL, "number": click.IntRange(min=1)}.get(flag.kind, click.STRING)
        is_flag = flag.kind == "switch"
        params.append(click.Option(names, type=kind, is_flag=is_flag, help=flag.help))

    def run(**given: Any) -> int:
        found = [given.pop(word) for word in quick.words]
        words = tuple(str(each) for word in found for each in _each(word))
        return quick.run(Parsed({k: v for k, v in given.items() if v is not None}, words))

    return click.Command(quick.name, callback=run, params=params, help=quick.about)


def _each(word: str | tuple[str, ...]) -> tuple[str, ...]:
    return word if isinstance(word, tuple) else (word,)
