"""What answers here: version."""

from fleet import __version__
from fleet.queue.bd.call import Call, Verb

#: The bd whose flags, shapes and texts fleet follows.
BD_VERSION = "1.3.0"


def _version(call: Call) -> int:
    if call.json:
        call.put({"version": BD_VERSION, "build": f"fleet {__version__}"})
    else:
        call.say(f"bd version {BD_VERSION} (answered by fleet {__version__})")
    return 0


VERSION = Verb(run=_version, usage="bd version", about="Print version information")
