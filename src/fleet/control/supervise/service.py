"""`fleet service`: the supervisor as a systemd unit of the user, started with the login."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fleet.control import Control
from fleet.errors import FleetError, NotFound, Refused
from fleet.files import lenient_read
from fleet.files.atomic_write import write_atomically
from fleet.home import Home
from fleet.processes.bounded_call import CallFailed, call
from fleet.processes.own_program import OWN_PROGRAM
from fleet.processes.supervisor_lock import AlreadyRunning, supervisor_of

#: The first line of each unit that fleet wrote; any other is left alone.
MARK = "# Written by `fleet service install`, and taken away by `fleet service remove`."
#: Seconds that systemd may take for an answer.
_PATIENCE = 30.0
#: Exit codes that no second start mends: bad input, settings, home, another supervisor.
_FOR_GOOD = "2 3 4 9"


class Installed(Struct, frozen=True, kw_only=True):
    """A unit that systemd knows."""

    name: str
    path: Path
    #: Whether services of this user outlive the last login; None: not known.
    lingers: bool | None


def unit_name(home: Home, env: Mapping[str, str]) -> str:
    """`fleet.service` for the usual home, and a name made of the path for any other home."""
    if home.path == Path(env.get("HOME", "/")) / ".fleet":
        return "fleet.service"
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(home.path).strip("/"))
    return f"fleet-{plain.lower()}.service"


def unit_path(home: Home, env: Mapping[str, str]) -> Path:
    """Where systemd looks for the units of a user."""
    config = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", "/")) / ".config")
    return Path(config) / "systemd/user" / unit_name(home, env)


def unit_text(fleet: Control, env: Mapping[str, str]) -> str:
    """The unit: the supervisor as this command would start one, with the PATH of this shell, where
    the agents' programs are.
    """
    home = str(fleet.home.path)
    settings = {"FLEET_HOME": home, "PATH": env.get("PATH", os.defpath)}
    program, *flags = OWN_PROGRAM
    lines = [f'Environment="{name}={_quoted(value)}"' for name, value in settings.items()]
    return "\n".join((
        MARK,
        "[Unit]",
        f"Description=fleet: coding agents from the queue of {_escaped(home)}",
        "",
        "[Service]",
        "Type=exec",
        f'ExecStart="{_quoted(program).replace("$", "$$")}" {" ".join(flags)} run --quiet',
        "ExecReload=/bin/kill -HUP $MAINPID",
        f"WorkingDirectory={_escaped(home)}",
        *lines,
        "# Agents belong to their keepers: they outlive a supervisor that fails, and the next one",
        "# adopts them. A stop ends them through the supervisor.",
        "KillMode=process",
        "# One agent that runs out of memory is not the end of all.",
        "OOMPolicy=continue",
        f"TimeoutStopSec={fleet.config.grace_s + 60:g}",
        "Restart=on-failure",
        "RestartSec=5",
        f"RestartPreventExitStatus={_FOR_GOOD}",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ))  # fmt: skip


def install(fleet: Control, env: Mapping[str, str]) -> Installed:
    """Write the unit, and have systemd start the supervisor now and with each login."""
    _refuse_without_systemd()
    name, path = unit_name(fleet.home, env), unit_path(fleet.home, env)
    if path.exists() and not _is_ours(path):
        raise Refused(f"{path} is there and not fleet's", hint="Move it away, and try again.")
    running = supervisor_of(fleet.home)
    if running is not None and not path.exists():
        raise AlreadyRunning(
            f"a supervisor runs already (process {running.who.pid}), which is no service",
            hint="End it first: fleet shutdown",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, unit_text(fleet, env).encode())
    for words in (("daemon-reload",), ("enable", name), ("restart" if running else "start", name)):
        _systemctl(*words)
    return Installed(name=name, path=path, lingers=_lingers())


def remove(fleet: Control, env: Mapping[str, str]) -> Path:
    """Stop the service together with the agents, and delete the unit."""
    name, path = unit_name(fleet.home, env), unit_path(fleet.home, env)
    if not path.exists():
        raise NotFound(f"there is no service {name}", hint="Install one: fleet service install")
    if not _is_ours(path):
        raise Refused(f"{path} is not fleet's", hint=f"To stop it: systemctl --user stop {name}")
    _refuse_without_systemd()
    _systemctl("disable", "--now", name)
    path.unlink()
    _systemctl("daemon-reload")
    return path


def _is_ours(path: Path) -> bool:
    found = lenient_read.read(path, len(MARK))
    return found is not None and found.text == MARK


def _refuse_without_systemd() -> None:
    done = call(("systemctl", "--user", "show-environment"), timeout=_PATIENCE)
    if isinstance(done, CallFailed) or done.code != 0:
        why = done.problem or done.err.strip() or f"systemctl ended with code {done.code}"
        raise FleetError(
            f"systemd keeps no services of yours here: {why}",
            hint="Without it: fleet run --detach. The unit itself: fleet service install --print",
        )


def _systemctl(*words: str) -> None:
    done = call(("systemctl", "--user", *words), timeout=_PATIENCE)
    if isinstance(done, CallFailed) or done.code != 0:
        why = done.problem or done.err.strip() or f"code {done.code}"
        raise FleetError(f"systemctl --user {' '.join(words)}: {why}", hint="See: fleet log 5")


def _lingers() -> bool | None:
    done = call(("loginctl", "show-user", str(os.getuid()), "--property=Linger"), timeout=5.0)
    return {"Linger=yes": True, "Linger=no": False}.get(done.text.strip())


def _escaped(text: str) -> str:
    """Text of a unit: a percent sign would begin a specifier."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    """Text between the quotes of a unit."""
    return _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
