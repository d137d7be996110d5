"""`fleet completion`: teach a shell to complete fleet's commands, options and task ids."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for a shell. To have it in each new one:

    \b
    eval "$(fleet completion bash)"     in ~/.bashrc
    eval "$(fleet completion zsh)"      in ~/.zshrc
    fleet completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    made = get_completion_class(shell)
    assert made is not None
    script = made(ctx.find_root().command, {}, "fleet", "_FLEET_COMPLETE")
    # Not source(): for bash, click would start a bash to ask for the version, and warn on stdout.
    click.echo(script.source_template % script.source_vars())
