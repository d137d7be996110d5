"""`fleet mcp`: fleet as an MCP server for a person's own agents, and the entry for clients."""

from typing import cast

import click

from fleet import control
from fleet.cli.terminal_text import print_line
from fleet.control.supervise.install_entry import OperatorClient, entry_for, write_entry
from fleet.errors import BadInput


@click.group("mcp", invoke_without_command=True)
@click.option("--operator", is_flag=True, help="Serve a person's own agent on stdin and stdout.")
@click.option("--allow", type=click.Choice(["write"]), help="Let it act, and not only read.")
@click.pass_context
def command(ctx: click.Context, operator: bool, allow: str | None) -> None:
    """Let Claude, Codex or another MCP client look at fleet, and with --allow write act on it.

    The agents of fleet's runs have a server of their own, which fleet starts by itself.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not operator:
        raise BadInput(
            "fleet starts the server of its own agents by itself",
            hint="For your own agent: fleet mcp --operator. To tell a client: fleet mcp install",
        )
    import os

    from fleet.mcp.operator_tools import serve

    control.refuse_agents(os.environ, "be an operator")
    control.opened().close()  # what is wrong with the home is said before a client waits
    serve(control.opened, write=allow == "write")


@command.command("install")
@click.argument("client", type=click.Choice(["claude", "codex", "desktop"]))
@click.option("--write", is_flag=True, help="Write the entry to the client's own file.")
@click.option("--allow", type=click.Choice(["write"]), help="Let it act, and not only read.")
def install(client: str, write: bool, allow: str | None) -> None:
    """Print the entry for a client's settings, or write it there; the rest of the file is kept."""
    entry = entry_for(cast("OperatorClient", client), control.opened().home, write=allow == "write")
    if not write:
        print_line(entry.text.rstrip("\n"))
        print_line(f"Put this into {entry.path}, or: fleet mcp install {client} --write", err=True)
        return
    write_entry(entry)
    print_line(f"Written to {entry.path}. A client that runs has to be started anew.")
