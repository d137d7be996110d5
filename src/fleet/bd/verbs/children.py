"""bd children: the list of what belongs to one task, whatever its status."""

from fleet.bd.arguments.positional import exactly
from fleet.bd.command import Call, Verb
from fleet.bd.pflag import Flag, Parsed
from fleet.bd.verbs.list_ import LIST


def _children(call: Call) -> int:
    (parent,) = exactly(call, 1)
    call.line = Parsed({**call.line.values, "parent": parent, "status": "all"}, ())
    return LIST.run(call)


CHILDREN = Verb(
    run=_children,
    usage="bd children <parent-id> [flags]",
    about="List child beads of a parent",
    flags=(Flag("pretty", "switch", help="Show children in tree format"),),
    channel="err",
)
