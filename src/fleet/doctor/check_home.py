"""The home: permissions, settings, and supervisor."""

import os
import stat
from collections.abc import Iterator

from fleet import coders, config
from fleet.coders.claude import home as claude_home
from fleet.doctor.check_result import CheckResult, Installation
from fleet.errors import BadInput
from fleet.home import open_home


def place(installation: Installation) -> Iterator[CheckResult]:
    home = open_home(installation.home)
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if not os.access(home.path, os.W_OK):
        yield CheckResult(
            "home", "error", f"{home.path} cannot be written", "Set FLEET_HOME elsewhere."
        )
    elif mode & 0o077:
        text = f"others can look into {home.path} (mode {mode:04o})"
        yield CheckResult("home", "warning", text, f"Close it: chmod 700 {home.path}")
    else:
        yield CheckResult("home", "ok", str(home.path))


def settings(installation: Installation) -> Iterator[CheckResult]:
    if (
        installation.home.path.is_dir() and installation.home.config.exists()
    ):  # else the check `home` reports it
        found = config.load(installation.home.config)
        yield CheckResult("config", "ok", str(installation.home.config))
        if found.converted:
            what = f"runtime.toml is of an earlier fleet: {'; '.join(found.converted)}"
            fix = "fleet config set KEY=VALUE, with any key, writes it so"
            yield CheckResult("config", "warning", what, fix)


def permissions(installation: Installation) -> Iterator[CheckResult]:
    if installation.config is None:
        return
    chosen = installation.config.permissions
    who = "root" if os.geteuid() == 0 else "you"
    if chosen == "bypass" and who == "root":
        what = "permissions = bypass as root: nothing keeps an agent from anything on this machine"
        fix = "Only where the machine is a sandbox. Else: fleet config set permissions=edit"
        yield CheckResult("permissions", "warning", what, fix)
    else:
        yield CheckResult("permissions", "ok", f"{chosen}; agents run as {who}")


def context(installation: Installation) -> Iterator[CheckResult]:
    """What a `context` below full takes from runs: the user's own settings."""
    if installation.config is None:
        return
    chosen = {"": installation.config.context} | {
        path: project.settings.get("context", installation.config.context)
        for path, project in installation.config.projects.items()
    }
    smaller = {str(value) for value in chosen.values()} - {"full"}
    if not smaller:
        return
    name = installation.config.coder
    try:
        known = coders.find(name, installation.home.path).contexts
    except BadInput:
        return  # the check `coder` reports it
    word = "/".join(sorted(smaller))
    if unknown := smaller - set(known):
        what = f"context = {'/'.join(sorted(unknown))}: {name} loads the same as in full"
        yield CheckResult(
            "context", "warning", what, f"{name} has no setting for it; see docs/coders.md"
        )
    elif name == "claude" and (lost := claude_home.lost(installation.env)):
        what = f"context = {word}: runs go without {', '.join(lost)} of your own settings.json"
        fix = "Put what runs need into the project's .claude/settings.json, or use context = full."
        yield CheckResult("context", "warning", what, fix)
    else:
        yield CheckResult("context", "ok", f"{word}; what that saves: fleet doctor --context")


def supervisor(installation: Installation) -> Iterator[CheckResult]:
    from fleet.processes.supervisor_lock import supervisor_of

    holder = supervisor_of(installation.home)
    if holder:
        what = f"process {holder.who.pid}, since {holder.since.astimezone():%F %H:%M}"
        yield CheckResult("supervisor", "ok", what)
    elif installation.config is not None:
        yield CheckResult("supervisor", "ok", "none runs; start one with: fleet run")
