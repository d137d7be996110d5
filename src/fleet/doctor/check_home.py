"""The home itself: who can look into it, what its settings say, and who looks after it."""

import os
import stat
from collections.abc import Iterator

from fleet import coders, config
from fleet.coders.claude import home as claude_home
from fleet.doctor.finding import Finding, Patient
from fleet.errors import BadInput
from fleet.home import open_home


def place(patient: Patient) -> Iterator[Finding]:
    home = open_home(patient.home)
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if not os.access(home.path, os.W_OK):
        yield Finding(
            "home", "error", f"{home.path} cannot be written", "Set FLEET_HOME elsewhere."
        )
    elif mode & 0o077:
        text = f"others can look into {home.path} (mode {mode:04o})"
        yield Finding("home", "warning", text, f"Close it: chmod 700 {home.path}")
    else:
        yield Finding("home", "ok", str(home.path))


def settings(patient: Patient) -> Iterator[Finding]:
    if patient.home.path.is_dir() and patient.home.config.exists():  # else it is said already
        config.load(patient.home.config)
        yield Finding("config", "ok", str(patient.home.config))


def permissions(patient: Patient) -> Iterator[Finding]:
    if patient.config is None:
        return
    chosen = patient.config.permissions
    who = "root" if os.geteuid() == 0 else "you"
    if chosen == "bypass" and who == "root":
        what = "permissions = bypass as root: nothing keeps an agent from anything on this machine"
        fix = "Only where the machine is a sandbox. Else: fleet config set permissions=edit"
        yield Finding("permissions", "warning", what, fix)
    else:
        yield Finding("permissions", "ok", f"{chosen}; agents run as {who}")


def context(patient: Patient) -> Iterator[Finding]:
    """What a smaller context takes from runs besides what it is meant to."""
    if patient.config is None:
        return
    chosen = {"": patient.config.context} | {
        path: project.settings.get("context", patient.config.context)
        for path, project in patient.config.projects.items()
    }
    smaller = {str(value) for value in chosen.values()} - {"full"}
    if not smaller:
        return
    name = patient.config.coder
    try:
        known = coders.find(name, patient.home.path).contexts
    except BadInput:
        return  # said by the check of the coders
    word = "/".join(sorted(smaller))
    if unknown := smaller - set(known):
        what = f"context = {'/'.join(sorted(unknown))}: {name} loads the same as in full"
        yield Finding(
            "context", "warning", what, f"{name} has no setting for it; see docs/coders.md"
        )
    elif name == "claude" and (lost := claude_home.lost(patient.env)):
        what = f"context = {word}: runs go without {', '.join(lost)} of your own settings.json"
        fix = "Put what runs need into the project's .claude/settings.json, or use context = full."
        yield Finding("context", "warning", what, fix)
    else:
        yield Finding("context", "ok", f"{word}; what that saves: fleet doctor --context")


def supervisor(patient: Patient) -> Iterator[Finding]:
    from fleet.processes.supervisor_lock import supervisor_of

    holder = supervisor_of(patient.home)
    if holder:
        what = f"process {holder.who.pid}, since {holder.since:%F %H:%M} UTC"
        yield Finding("supervisor", "ok", what)
    elif patient.config is not None:
        yield Finding("supervisor", "ok", "none runs; start one with: fleet run")
