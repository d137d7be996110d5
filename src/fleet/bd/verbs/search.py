"""`bd search`: tasks by a word of their title or id, closed ones too."""

from msgspec.structs import replace

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output import lines
from fleet.bd.output.list_rows import counted
from fleet.bd.pflag import Flag
from fleet.bd.verbs.list_ import ORDERS
from fleet.queue.sql.tracker.search import search

_SOME = 50


def _search(call: Call) -> int:
    word = call.line.text("query") or " ".join(call.words)
    if not word:
        from fleet.bd.help import help_for

        call.say(help_for(SEARCH))
        raise Failure("search query is required", channel="err")
    limit = call.line.number("limit", _SOME)
    name = call.line.text("sort")
    want = replace(
        filters.search_of(call, channel="err"),
        word=word,
        order=name if name in ORDERS else "priority",
        reverse=call.line.switch("reverse"),
        limit=limit if limit > 0 else None,
    )
    tasks = search(call.queue, want)
    if call.json:
        call.put(counted(call.queue, tasks, edges=False))
    elif not tasks:
        call.say(f"No issues found matching '{word}'")
    elif call.line.switch("long"):
        call.say(f"\nFound {len(tasks)} issues matching '{word}':\n")
        for task in tasks:
            call.say(f"{lines.long(task)}\n")
    else:
        call.say(f"Found {len(tasks)} issues matching '{word}':")
        for task in tasks:
            call.say(lines.found(task))
    return 0


SEARCH = Verb(
    run=_search,
    usage="bd search [query] [flags]",
    about="Search issues by title and id, closed ones too",
    channel="err",
    flags=(
        Flag("query", help="Search query (alternative to positional argument)"),
        filters.STATUS,
        Flag("priority-min", help="Filter by minimum priority (inclusive)"),
        Flag("priority-max", help="Filter by maximum priority (inclusive)"),
        filters.TYPE,
        *filters.WHO,
        *filters.LABELS[:2],
        *filters.METADATA,
        *filters.DATES,
        Flag("external-contains", help="Filter by external reference substring"),
        *filters.SORT,
        Flag("limit", "number", "n", help="Limit results (default 50)"),
        Flag("long", "switch", help="Several lines for each issue"),
    ),
)
