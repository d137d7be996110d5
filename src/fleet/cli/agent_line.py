"""The command lines of agents: read once, held against the table, and carried out as read.

The supervisor starts a process for each such line. What is ruled are the values that the command's
own declaration made of the line, and the command is called with these values.
"""

from collections.abc import Sequence
from typing import Any

import click

from fleet.cli.click_line import options_of, path_of
from fleet.cli.fast_path import read_quickly
from fleet.cli.root import fleet
from fleet.spool.agent_rights import check_fleet


def carry_out(args: Sequence[str], task: str) -> int:
    """Carry out a line of the agent of `task`; returns the exit code. Raises Refused."""
    known = read_quickly(args)
    if known is not None:
        quick, line = known
        check_fleet(quick.name, line.values, task)
        return quick.run(line)
    if not args:
        check_fleet("", (), task)

    class Ruled(AgentContext):
        agents_task = task

    click.Command.context_class = Ruled
    return fleet(args)


class AgentContext(click.Context):
    """A line that click has read. The table is asked before the function of a command is called."""

    agents_task: str

    def invoke(self, callback: Any, /, *args: Any, **kwargs: Any) -> Any:
        path = path_of(self)
        check_fleet(path, options_of(self), self.agents_task)
        if self.invoked_subcommand:  # refused before the group's own function runs
            check_fleet(f"{path} {self.invoked_subcommand}".strip(), (), self.agents_task)
        return super().invoke(callback, *args, **kwargs)
