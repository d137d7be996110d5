"""What click read of a command line: the path of the command, and what stood on the line."""

import click
from click.core import ParameterSource


def path_of(context: click.Context) -> str:
    """The names of the command and of its groups, without that of the program."""
    names: list[str] = []
    at: click.Context = context
    while at.parent is not None:
        names.append(at.info_name or "")
        at = at.parent
    return " ".join(reversed(names))


def options_of(context: click.Context) -> list[str]:
    """The long names of the options on the line."""
    return [
        max(each.opts, key=len).lstrip("-")
        for each in context.command.params
        if isinstance(each, click.Option) and _is_typed(context, each)
    ]


def words_of(context: click.Context) -> list[str]:
    """The names of the arguments that have a value."""
    return [
        str(each.name)
        for each in context.command.params
        if isinstance(each, click.Argument)
        and _is_typed(context, each)
        and context.params.get(str(each.name))
    ]


def _is_typed(context: click.Context, param: click.Parameter) -> bool:
    return context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
