"""What `fleet host add` does on the other machine: a program of the standard library alone, that
ssh hands to the Python there.

Standard input is this text, one line of JSON with what to do, and a tar of wheels. Each line that
is printed is JSON: a `step` that was done, and in the end `facts`, `done` or `failed`. The queue's
address, which may hold a password, comes by standard input, and is kept in the home alone.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

#: Seconds for a program to answer, to install wheels, and for a supervisor to begin.
_ANSWER, _INSTALL, _BEGIN = 20.0, 600.0, 30.0
#: How much of what a failed program printed is told.
_MOST_SHOWN = 1500
#: Marks a venv that is complete.
_READY = "fleet-ready"


class StepFailed(Exception):
    """One step did not succeed: what was tried, why that failed, and what to do."""

    def __init__(self, step: str, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.step, self.why, self.hint = step, why, hint


def main(stdin: BinaryIO) -> int:
    """Do what the request on standard input asks; 0 if everything was done."""
    os.umask(0o077)
    request: dict[str, Any] = json.loads(stdin.readline())
    try:
        if request["act"] == "look":
            _tell({"facts": facts(request)})
        else:
            _tell({"done": set_up(request, stdin)})
    except StepFailed as failure:
        _tell({"failed": failure.step, "why": failure.why, "hint": failure.hint})
        return 1
    return 0


def facts(request: Mapping[str, Any]) -> dict[str, Any]:
    """What this machine has."""
    git = shutil.which("git", path=_login_path())
    home = _home(request)
    return {
        "name": platform.node(),
        "python": platform.python_version(),
        "tag": own_tag(),
        "git": _said(git, "version").removeprefix("git version ") if git else "",
        "home": str(home),
        "queue": _queue_of(home),
        "systemd": _keeps_services(),
    }


def own_tag() -> str:
    """Wheels that are installed under one tag run under the same tag elsewhere."""
    libc = platform.libc_ver()[0] or "-"
    return f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}-{libc}"


def set_up(request: Mapping[str, Any], wheels: BinaryIO) -> dict[str, Any]:
    """Install fleet, make a home on the queue, and start a supervisor if one is asked for."""
    venv = _install(request, wheels)
    home = _home(request)
    env = {**_session(), "FLEET_HOME": str(home), "PATH": f"{venv / 'bin'}:{_login_path()}"}
    fleet = str(venv / "bin" / "fleet")
    address = str(request["queue"]).encode()
    _run("home", [fleet, "init", "--queue", "-"], env, stdin=address)
    identity = json.loads(_run("queue", [fleet, "queue", "status", "--json"], env))["identity"]
    if identity != request["identity"]:
        raise StepFailed(
            "queue",
            f"the address leads there to another queue ({identity[:8]}, not"
            f" {str(request['identity'])[:8]})",
            "Give an address that means the same server on both machines: --queue ADDRESS",
        )
    if request["settings"]:
        _run("settings", [fleet, "config", "set", *request["settings"]], env)
    for remote in request["trust"]:
        _run("trust", [fleet, "trust", "--remote", remote], env)
    _step("home", f"home {home}, on the queue of this one")
    return {"home": str(home), "fleet": fleet, **_start(request["start"], fleet, home, env)}


def _start(how: str, fleet: str, home: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Start a supervisor as asked, and wait for the host's id; empty if none is to be started."""
    if how == "none":
        return {"id": "", "lingers": None}
    lingers = None
    if how == "service":
        _run("service", [fleet, "service", "install"], env)
        # Without that the service would end with this very session.
        _said("loginctl", "enable-linger", env=env)
        lingers = "Linger=yes" in _said(
            "loginctl", "show-user", str(os.getuid()), "--property=Linger", env=env
        )
    else:
        _run("start", [fleet, "run", "--detach"], env)
    owner, end = home / "owner", time.monotonic() + _BEGIN
    while not owner.exists() and time.monotonic() < end:
        time.sleep(0.1)
    if not owner.exists():
        raise StepFailed("start", "the supervisor did not begin", f"See there: {fleet} log 5")
    _step("start", "the supervisor is started" + (" as a service" if how == "service" else ""))
    return {"id": owner.read_text().strip(), "lingers": lingers}


def _install(request: Mapping[str, Any], wheels: BinaryIO) -> Path:
    """A new venv for these very wheels, so that a running supervisor keeps the old files."""
    share = Path.home() / ".local" / "share" / "fleet"
    share.mkdir(parents=True, exist_ok=True)
    venv = share / str(request["name"])
    with (share / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=share) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _unpack(wheels, Path(folder))
        if not (venv / _READY).exists():
            shutil.rmtree(venv, ignore_errors=True)
            _run("install", [sys.executable, "-m", "venv", "--without-pip", str(venv)], os.environ)
            _pip(request, Path(folder), venv)
            (venv / _READY).touch()
    version = _run("install", [str(venv / "bin" / "fleet"), "--version"], os.environ).strip()
    _step("install", f"{version} is installed in {venv}{_link(venv)}")
    return venv


def _unpack(wheels: BinaryIO, folder: Path) -> None:
    """The files of an archive, beside each other. Without `extractall`: the Python of Debian 12
    (3.11.2) does not know its `filter`.
    """
    with tarfile.open(fileobj=wheels, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                with (folder / Path(member.name).name).open("wb") as file:
                    shutil.copyfileobj(content, file)


def _pip(request: Mapping[str, Any], folder: Path, venv: Path) -> None:
    """Install the wheels: from those alone, or with the rest from this machine's own index."""
    python = str(venv / "bin" / "python")
    sent = next(folder.glob("pip-*.whl"), None)
    if sent is None:
        hint = "Install pip there (Debian: apt install python3-venv)."
        _run("install", [python, "-m", "ensurepip"], os.environ, hint=hint)
    pip = [python, str(sent / "pip")] if sent is not None else [python, "-m", "pip"]
    words = ["install", "--quiet", "--no-input", "--disable-pip-version-check"]
    if request["complete"]:
        words += ["--no-index", "--find-links", str(folder)]
    else:
        words += ["--constraint", str(folder / "constraints.txt")]
    own = next(folder.glob("fleet-*.whl"))
    hint = "" if request["complete"] else "pip there must reach a package index: see pip config."
    extras = ",".join(request["extras"])
    _run("install", [*pip, *words, f"{own}[{extras}]"], os.environ, hint=hint, timeout=_INSTALL)


def _link(venv: Path) -> str:
    """Have `fleet` on the PATH of people there; a program of that name that is not ours stays."""
    link = Path.home() / ".local" / "bin" / "fleet"
    if link.exists() and not (link.is_symlink() and link.resolve().is_relative_to(venv.parent)):
        return f"; {link} is another and stays"
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".fleet-{os.getpid()}")
    new.symlink_to(venv / "bin" / "fleet")
    new.replace(link)
    return ""


def _home(request: Mapping[str, Any]) -> Path:
    named = str(request["home"])
    return Path.home() / named if named else Path.home() / ".fleet"


def _queue_of(home: Path) -> str:
    """The queue of a home that is there already; empty: there is none."""
    try:
        return str(tomllib.loads((home / "runtime.toml").read_text()).get("queue", "embedded"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise StepFailed("home", f"{home}/runtime.toml cannot be read: {error}") from error


def _login_path() -> str:
    """The PATH that a person has there: ssh's own is shorter, and lacks agents' programs."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    said = _said(shell, "-lc", 'printf "\\nPATH=%s" "$PATH"')
    found = said.rpartition("\nPATH=")[2] if "\nPATH=" in f"\n{said}" else ""
    own = Path.home() / ".local" / "bin"
    return ":".join(dict.fromkeys(
        each for each in (*found.removeprefix("PATH=").split(":"), str(own),
                          *os.environ.get("PATH", os.defpath).split(":")) if each
    ))  # fmt: skip


def _session() -> dict[str, str]:
    """The environment of the login; a session without PAM does not name the user's systemd."""
    env, runtime = dict(os.environ), Path(f"/run/user/{os.getuid()}")
    if "XDG_RUNTIME_DIR" not in env and runtime.is_dir():
        env["XDG_RUNTIME_DIR"] = str(runtime)
    return env


def _keeps_services() -> bool:
    return bool(_said("systemctl", "--user", "show-environment", env=_session()))


def _said(program: str, *words: str, env: Mapping[str, str] | None = None) -> str:
    """What a program prints; empty if the program fails."""
    try:
        done = subprocess.run(
            [program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_ANSWER, check=False, env=env,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _run(
    step: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    stdin: bytes = b"",
    hint: str = "",
    timeout: float = 120.0,
) -> str:
    """Run a program of a step; returns what was printed. Output goes to a file: a process that
    stays behind must not hold the pipes of ssh.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            done = subprocess.run(
                argv, env=env, stdin=given, stdout=out, stderr=subprocess.STDOUT, check=False,
                timeout=timeout, cwd=Path.home(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StepFailed(step, str(error), hint) from error
        out.seek(0)
        text = out.read().decode(errors="replace")
    if done.returncode != 0:
        raise StepFailed(step, text.strip()[-_MOST_SHOWN:] or f"exit code {done.returncode}", hint)
    return text


def _step(step: str, said: str) -> None:
    _tell({"step": step, "said": said})


def _tell(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer))
