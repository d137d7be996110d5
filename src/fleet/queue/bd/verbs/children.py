"""bd children: the list of what belongs to one task, whatever its status."""

from fleet.flags import Flag, Parsed
from fleet.queue.bd.call import Call, Verb
from fleet.queue.bd.input import exactly
from fleet.queue.bd.verbs.listing import LIST


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
