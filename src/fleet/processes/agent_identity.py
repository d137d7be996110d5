"""The identity of a process that answers an agent: it reads for that agent and changes nothing.

The supervisor starts such a process outside of the agent's box, with the operator's rights and with
`ASKED_BY` in its environment. The table of rights decides which command runs there. What is in
this module holds whatever the table says: every act refuses such a process, no file is opened for
writing, no database connection writes, no process is signalled, and no program but a `bd` that only
reads is started.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

from fleet.errors import Refused

#: The environment variable with the id of the task whose agent asks. The supervisor sets it.
ASKED_BY = "FLEET_ASKED_BY"

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_UNNAMED = getattr(os, "O_TMPFILE", -1)
#: The programs that may be started; `BdClient` has bd refuse to write.
_PROGRAMS = frozenset({"bd"})
#: The audit events of Python that can mean a change outside of this process, and those of them that
#: do not. An event that a later Python adds is refused until it is named here.
_FAMILIES = ("os.", "shutil.", "signal.", "socket.", "subprocess.", "tempfile.")
_HARMLESS = frozenset(
    (
        "os.chdir", "os.fwalk", "os.getxattr", "os.listdir", "os.listxattr", "os.putenv",
        "os.scandir", "os.unsetenv", "os.walk",
        # A bounded call ends the process group of the program that it started itself.
        "os.killpg",
        "socket.__new__", "socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname",
        "socket.gethostname", "socket.getnameinfo", "socket.getservbyname", "socket.getservbyport",
    )
)  # fmt: skip


def asked_by(env: Mapping[str, str] = os.environ) -> str:
    """The task whose agent this process answers; empty: it answers no agent."""
    return env.get(ASKED_BY, "")


def refuse_agent(what: str, env: Mapping[str, str] = os.environ) -> None:
    """Raise Refused in a process that answers an agent."""
    if asked_by(env):
        raise Refused(f"an agent cannot {what}", hint="A person does that, outside of any run.")


def give_up_changes() -> None:
    """Have this process refuse every change from now on. Cannot be undone.

    SQLite is a library of its own, which Python's audit events do not show: each connection is told
    to refuse writes when it is made.
    """
    import apsw

    sys.dont_write_bytecode = True
    apsw.connection_hooks.append(_read_only)
    sys.addaudithook(_refuse_change)


def _read_only(connection: Any) -> None:
    connection.execute("PRAGMA query_only = ON").fetchall()


def _refuse_change(event: str, args: tuple[Any, ...]) -> None:
    if event == "open":
        path, _, flags = args
        if flags & _WRITES and path != os.devnull and flags & _UNNAMED != _UNNAMED:
            refuse_agent(f"write {_text(path)}")
    elif event == "subprocess.Popen":
        if os.path.basename(_text(args[0])) not in _PROGRAMS:  # noqa: PTH119 - may be bytes
            refuse_agent(f"start {_text(args[0])}")
    elif event.startswith(_FAMILIES) and event not in _HARMLESS:
        refuse_agent(f"do that ({event})")


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
