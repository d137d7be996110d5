"""What answers here: version, help."""

from fleet import __version__
from fleet.bd.command import Call, Verb

#: The bd whose flags, shapes and texts fleet follows.
BD_VERSION = "1.3.0"


def _version(call: Call) -> int:
    if call.json:
        call.put({"version": BD_VERSION, "build": f"fleet {__version__}"})
    else:
        call.say(f"bd version {BD_VERSION} (answered by fleet {__version__})")
    return 0


def _help(call: Call) -> int:
    from fleet.bd import find_verb
    from fleet.bd.help import help_for, overview

    if not call.words:
        call.say(overview())
        return 0
    verb = find_verb(" ".join(call.words[:2])) or find_verb(call.words[0])
    if verb is not None:
        call.say(help_for(verb))
    else:
        call.warn(f"Unknown help topic [`{call.words[0]}`]\n{overview()}")
    return 0


VERSION = Verb(run=_version, usage="bd version", about="Print version information")
HELP = Verb(run=_help, usage="bd help [command]", about="Help about any command")
