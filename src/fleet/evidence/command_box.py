"""The box of the operator's own commands: verify and set-up commands run what agents wrote.

The box is that of a run without an agent: no keys, no state of a CLI, no spool, and no network.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fleet.sandbox.bwrap_argv import bwrap_argv
from fleet.sandbox.make_box import make_box
from fleet.sandbox.strict_argv import proxied_env, strict_argv
from fleet.sandbox.toolchains import boxed_env
from fleet.sandbox.try_box import require_box
from fleet.schemas import Sandbox


class CommandBox(Struct, frozen=True, kw_only=True):
    """What commands can reach beside the system and toolchains."""

    sandbox: Sandbox
    #: The home of fleet, which stays hidden.
    home: str
    #: The tree that the commands work in.
    tree: str
    read: tuple[str, ...] = ()
    #: Hosts that the commands may reach; none: there is no network.
    hosts: tuple[str, ...] = ()


def box_command(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], box: CommandBox | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command and the environment in the box, or unchanged without a box. Raises FleetError if
    the box cannot be had.
    """
    if box is None or box.sandbox.level == "off":
        return tuple(argv), dict(env)
    program = require_box()
    made = make_box(
        env,
        cwd=cwd,
        write=[box.tree, *box.sandbox.write],
        read=[*box.read, *box.sandbox.read],
        hidden=[box.home],
        network=False,
    )
    inside = boxed_env(env)
    if not box.hosts:
        return (program, *bwrap_argv(made, argv)), inside
    words = strict_argv(made, argv, program=program, hosts=box.hosts)
    return words, proxied_env(inside, box.hosts)
