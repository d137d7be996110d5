"""The command lines of people: read once by click, and recorded in the audit if they act."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from fleet.cli.click_line import options_of, path_of, words_of
from fleet.cli.inspect.acting_lines import acts
from fleet.cli.recorded_act import recorded
from fleet.cli.root import fleet


def carry_out(args: Sequence[str]) -> int:
    """Carry out a line that click reads; returns the exit code."""

    class AsTyped(PersonContext):
        typed = tuple(args)

    click.Command.context_class = AsTyped
    return fleet(args)


class PersonContext(click.Context):
    """A line that click has read. An act is recorded as the function of its command is called."""

    typed: tuple[str, ...]

    def invoke(self, callback: Any, /, *args: Any, **kwargs: Any) -> Any:
        path = path_of(self)
        work = partial(super().invoke, callback, *args, **kwargs)
        if not acts(path, (*options_of(self), *words_of(self))):
            return work()
        return recorded(path.partition(" ")[0], self.typed, work)
