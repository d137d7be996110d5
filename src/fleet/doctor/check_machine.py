"""The machine: Python, git, disk, memory, the limits of one user, and whether agents can be put
into a box here.
"""

import os
import re
import resource
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet import __version__
from fleet.coders.agent_environment import plain_env
from fleet.config import Config
from fleet.doctor.check_result import CheckResult, Installation
from fleet.processes.bounded_call import call
from fleet.sandbox.try_box import try_box
from fleet.schemas.units import shown_size

_OLDEST_PYTHON = (3, 11)
#: The first git that takes settings from the environment, which is how fleet gives them.
_OLDEST_GIT = (2, 31)
_PATIENCE = 5.0

_FULL, _NEARLY_FULL = 200 << 20, 2 << 30
_FEW_INODES = 10_000
#: Memory, and processes and threads, of one agent at work.
_AGENT_MEMORY = 300 << 20
_AGENT_THREADS = 60
_FEW_FILES = 1024
_INOTIFY: Mapping[str, int] = {"max_user_instances": 64, "max_user_watches": 8192}


def python(installation: Installation) -> Iterator[CheckResult]:
    del installation
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        fix = "Install fleet with a newer one: uv tool install --python 3.13 …"
        yield CheckResult("python", "error", f"Python {version} is older than 3.11", fix)
    else:
        yield CheckResult("python", "ok", f"Python {version}, fleet {__version__}")


def git(installation: Installation) -> Iterator[CheckResult]:
    path = shutil.which("git", path=installation.env.get("PATH"))
    if not path:
        yield CheckResult("git", "warning", "git is not on PATH", "Install git: agents expect it.")
        return
    env = plain_env(installation.env)
    answer = call([path, "--version"], env=env, timeout=_PATIENCE)
    found = re.search(r"(\d+)\.(\d+)[\w.]*", answer.text)
    if answer.problem or found is None:
        what = f"{path} {answer.problem or 'does not tell its version'}"
        yield CheckResult("git", "warning", what, "Run git --version, and mend what it says.")
        return
    if (int(found[1]), int(found[2])) < _OLDEST_GIT:
        what = f"git {found[0]} is older than {'.'.join(map(str, _OLDEST_GIT))}"
        yield CheckResult("git", "warning", what, "Upgrade git: scope and clones need it.")
    else:
        yield CheckResult("git", "ok", f"git {found[0]}")
    # With the environment of agents, and outside of any repository.
    missing = [
        name
        for name in ("user.name", "user.email")
        if not call(
            [path, "config", "--get", name], env=env, cwd=Path("/"), timeout=_PATIENCE
        ).text.strip()
    ]
    if missing:
        fix = "; ".join(f"git config --global {name} …" for name in missing)
        none = " and no ".join(missing)
        what = f"git has no {none}: agents cannot commit in projects without their own"
        yield CheckResult("git", "warning", what, fix)


def disk(installation: Installation) -> Iterator[CheckResult]:
    place = next(
        path for path in (installation.home.path, *installation.home.path.parents) if path.exists()
    )
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    text = f"{shown_size(free)} free at {place}"
    fix = "Make room: runs keep what agents print, and git keeps snapshots."
    if free < _FULL:
        yield CheckResult("disk", "error", f"only {text}", fix)
    elif free < _NEARLY_FULL:
        yield CheckResult("disk", "warning", f"only {text}", fix)
    else:
        yield CheckResult("disk", "ok", text)
    if found.f_files and found.f_favail < _FEW_INODES:  # some file systems have no such number
        what = f"only {found.f_favail} files can still be made at {place}"
        yield CheckResult("disk", "warning", what, "Delete unused files: node_modules, caches.")


def limits(installation: Installation) -> Iterator[CheckResult]:
    agents = (installation.config or Config()).max_concurrent
    found = list(_short(agents))
    yield from found
    if not found:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        yield CheckResult(
            "limits", "ok", f"{_number(files)} open files are enough for max_concurrent={agents}"
        )


def _short(agents: int) -> Iterator[CheckResult]:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < max(_FEW_FILES, 256 + 16 * agents):
        what = f"a process may open only {files} files"
        yield CheckResult("limits", "warning", what, "Raise it: ulimit -n 4096")
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    wanted = 200 + _AGENT_THREADS * agents
    if 0 <= processes < wanted:
        what = f"a user may have only {processes} processes; {agents} agents may take {wanted}"
        yield CheckResult(
            "limits", "warning", what, "Raise it: ulimit -u, or lower max_concurrent."
        )
    for name, least in _INOTIFY.items():
        value = _kernel(f"fs/inotify/{name}")
        if value is not None and value < least:
            what = f"fs.inotify.{name} is {value}: watching files falls back to polling"
            yield CheckResult(
                "limits", "warning", what, f"sudo sysctl fs.inotify.{name}={least * 16}"
            )


def memory(installation: Installation) -> Iterator[CheckResult]:
    import psutil

    agents = (installation.config or Config()).max_concurrent
    free, wanted = int(psutil.virtual_memory().available), agents * _AGENT_MEMORY
    text = f"{shown_size(free)} of memory free"
    if free < wanted:
        what = f"{text}; {agents} agents take about {shown_size(wanted)}"
        fix = f"Lower it: fleet config set max_concurrent={max(1, free // _AGENT_MEMORY)}"
        yield CheckResult("memory", "warning", what, fix)
    else:
        yield CheckResult("memory", "ok", text)


def sandbox(installation: Installation) -> Iterator[CheckResult]:
    """Run a program in a box that has to write inside and to fail outside."""
    wanted = _wanted_boxes(installation.config) if installation.config else set[str]()
    trial = try_box(installation.env)
    if trial.works:
        yield CheckResult("sandbox", "ok", _box_works(wanted))
    elif wanted <= {"off"}:
        yield CheckResult("sandbox", "warning", f"no box: {trial.problem}", trial.fix)
    else:
        what = f"sandbox = {max(wanted - {'off'})}, and no box can be had: {trial.problem}"
        yield CheckResult("sandbox", "error", f"{what}; such tasks do not begin", trial.fix)


def _wanted_boxes(config: Config) -> set[str]:
    own = (project.settings.get("sandbox") for project in config.projects.values())
    return {config.sandbox, *(str(level) for level in own if level)}


def _box_works(wanted: set[str]) -> str:
    tried = "a program in a box wrote inside and could not write or read outside"
    used = ", ".join(sorted(wanted))
    return f"{tried}; sandbox = {used}" if used else tried


def _kernel(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return None


def _number(limit: int) -> str:
    return "unlimited" if limit < 0 or limit >= 1 << 30 else str(limit)
