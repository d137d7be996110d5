"""Commands of bd that concern its own storage and set-up: there is nothing of that here.

What scripts and agents call as a matter of routine (`dolt push`, `sync`) succeeds and does
nothing; what would have to change something is refused and names bd.
"""

from collections.abc import Sequence

from fleet.bd.command import Call, Failure, Verb
from fleet.bd.pflag import Flag

_NO_REMOTE = "Nothing to {what}: fleet's queue is one database, and every change is in it already."


def _nothing(call: Call, what: str) -> int:
    text = _NO_REMOTE.format(what=what)
    if call.json:
        call.put({"status": "no-remote", "message": text})
    else:
        call.say(text)
    return 0


def _push(call: Call) -> int:
    return _nothing(call, "push")


def _pull(call: Call) -> int:
    return _nothing(call, "pull")


def _commit(call: Call) -> int:
    if call.json:
        call.put({"status": "nothing-to-commit"})
    else:
        call.say("Nothing to commit.")
    return 0


def _sync(call: Call) -> int:
    if call.json:
        call.put({"status": "no-remote", "pushed": False, "attempts": 0, "rows_corrected": 0})
    else:
        call.say(_NO_REMOTE.format(what="sync"))
    return 0


def _status(call: Call) -> int:
    address = call.queue.db.address
    if call.json:
        call.put({"mode": "fleet", "data_dir": address, "server_running": False})
    else:
        call.say(f"No Dolt here: fleet's own queue answers\n  Data: {address}")
    return 0


def _remotes(call: Call) -> int:
    if call.json:
        call.put([])
    else:
        call.say("No remotes configured.")
    return 0


def _dolt(call: Call) -> int:
    from fleet.bd.help import help_for

    if call.words:
        return _refuse(call)
    call.say(help_for(DOLT))
    return 0


def _refuse(call: Call) -> int:
    said = " ".join(["bd", call.verb, *call.words[:1]])
    raise Failure(
        f"'{said}' belongs to beads (bd), and this queue is fleet's own",
        hint="Install beads and use its queue to have it: fleet init --queue beads",
    )


_ACCEPTED = (
    Flag("message", short="m", help="Accepted for compatibility"),
    Flag("remote", help="Accepted for compatibility"),
    Flag("attempts", "number", help="Accepted for compatibility"),
    Flag("force", "switch", help="Accepted for compatibility"),
    Flag("yes", "switch", "y", help="Accepted for compatibility"),
    Flag("no-adopt", "switch", help="Accepted for compatibility"),
)

DOLT = Verb(
    run=_dolt,
    usage="bd dolt [push|pull|commit|status|show|remote]",
    about="Says that there is no Dolt here and nothing to push",
    flags=_ACCEPTED,
)
PUSH = Verb(run=_push, usage="bd dolt push", about="Nothing to push here", flags=_ACCEPTED)
PULL = Verb(run=_pull, usage="bd dolt pull", about="Nothing to pull here", flags=_ACCEPTED)
COMMIT = Verb(run=_commit, usage="bd dolt commit", about="Nothing to commit here", flags=_ACCEPTED)
STATUS = Verb(run=_status, usage="bd dolt status", about="Where the queue is", flags=_ACCEPTED)
REMOTES = Verb(run=_remotes, usage="bd dolt remote list", about="There are none", flags=_ACCEPTED)
SYNC = Verb(run=_sync, usage="bd sync", about="Nothing to sync here", flags=_ACCEPTED)


def _refused(name: str, about: str, texts: Sequence[str], switches: Sequence[str]) -> Verb:
    flags = [Flag(flag, help="Not here") for flag in texts]
    flags += [Flag(flag, "switch", help="Not here") for flag in switches]
    return Verb(run=_refuse, usage=f"bd {name}", about=about, flags=(*_ACCEPTED, *flags))


SETUP = _refused(
    "setup",
    "Not here: needs beads (bd)",
    ("add", "output"),
    ("check", "global", "list", "print", "project", "remove", "stealth"),
)
HOOKS = _refused("hooks", "Not here: needs beads (bd)", (), ("shared", "chain"))
DOCTOR = _refused(
    "doctor",
    "Not here: needs beads (bd); fleet doctor checks fleet",
    ("check", "migration", "output"),
    ("agent", "check-health", "clean", "deep", "dry-run", "fix", "interactive", "perf", "server"),
)
