"""Where the queue is and how it is: where, context, info, ping, init."""

import time

from fleet import __version__
from fleet.bd.command import Call, Verb
from fleet.bd.pflag import Flag
from fleet.bd.verbs.more.version_help import BD_VERSION
from fleet.queue.protocol import Filter


def prefix(call: Call) -> str:
    return str(call.queue.db.rows(call.queue.sql["meta"], {"key": "prefix"})[0][0])


def _where(call: Call) -> int:
    address = call.queue.db.address
    if call.json:
        call.put({"path": address, "database_path": address, "prefix": prefix(call)})
    else:
        call.say(f"{address}\n  prefix: {prefix(call)}\n  database: {address}")
    return 0


def _context(call: Call) -> int:
    address = call.queue.db.address
    if call.json:
        call.put({"backend": "fleet", "bd_version": BD_VERSION, "database": address})
    else:
        call.say(f"bd version:     {BD_VERSION} (answered by fleet {__version__})\n")
        call.say(f"Backend:\n  type:         fleet\n  database:     {address}")
    return 0


def _info(call: Call) -> int:
    address = call.queue.db.address
    count = len(call.queue.find(Filter(include_closed=True)))
    if call.json:
        config = {"issue_prefix": prefix(call)}
        call.put(
            {"database_path": address, "mode": "direct", "issue_count": count, "config": config}
        )
    else:
        call.say("\nBeads Database Information\n===========================")
        call.say(f"Database: {address}\nMode: direct\n\nIssue Count: {count}\n")
    return 0


def _ping(call: Call) -> int:
    start = time.monotonic()
    prefix(call)
    spent = round((time.monotonic() - start) * 1000)
    if call.json:
        spans = {"resolve_ms": 0, "store_ms": 0, "query_ms": spent, "total_ms": spent}
        call.put({"status": "ok", **spans})
    else:
        call.say(f"✓ bd ping: ok ({spent}ms)")
    return 0


def _init(call: Call) -> int:
    """There is nothing to make: whoever calls this already talks to the queue."""
    call.warn(f"Skipping init: the queue is there already: {call.queue.db.address}")
    return 0


WHERE = Verb(run=_where, usage="bd where", about="Show where the queue is")
CONTEXT = Verb(run=_context, usage="bd context", about="Show which backend answers")
INFO = Verb(
    run=_info,
    usage="bd info",
    about="Show database information",
    flags=(
        Flag("schema", "switch", help="Accepted for compatibility"),
        Flag("whats-new", "switch", help="Accepted for compatibility"),
        Flag("thanks", "switch", help="Accepted for compatibility"),
    ),
)
PING = Verb(run=_ping, usage="bd ping", about="Check that the queue answers")
INIT = Verb(
    run=_init,
    usage="bd init [flags]",
    about="Says that the queue is there already; fleet init makes one",
    flags=(
        Flag("prefix", short="p", help="Accepted for compatibility"),
        *(
            Flag(name, "switch", help="Accepted for compatibility")
            for name in (
                "non-interactive", "stealth", "skip-hooks", "skip-agents", "setup-exclude",
                "init-if-missing", "reinit-local", "server", "shared-server", "contributor",
                "team", "force", "debug",
            )
        ),
        *(
            Flag(name, help="Accepted for compatibility")
            for name in ("role", "remote", "database", "backend", "agents-file", "agents-profile")
        ),
    ),
)  # fmt: skip
