"""Tries a box for real, and says what the machine lacks for one.

Nothing is concluded from versions or settings: a program runs in a box and has to fail at what the
box forbids. What is lacking is told with the way to get it.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from fleet.errors import FleetError
from fleet.processes.bounded_call import CallFailed, call
from fleet.sandbox.bwrap_argv import bwrap_argv
from fleet.sandbox.make_box import make_box

#: The program of the package bubblewrap.
_BWRAP = "bwrap"
_PATIENCE = 10.0
#: Writes where the box allows, then where it does not. The last word tells how far the script came.
_TRY = (
    'echo x > "$1/in" || exit 3; true < "$2/key" && exit 4; echo x > "$2/out" && exit 5; echo boxed'
)
_INSTALL = "Install it: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap."
_BY_APPARMOR = (
    "Allow it: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give /usr/bin/bwrap"
    " an AppArmor profile with the rule userns (Ubuntu 24.04)."
)
_IN_CONTAINER = (
    "In a container, allow user namespaces (docker run --security-opt seccomp=unconfined"
    " --security-opt systempaths=unconfined), or let the container be the box: sandbox=off."
)
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")


class BoxTrial(Struct, frozen=True):
    """Whether a box can be had here."""

    #: What is wrong; empty if a program ran in a box and could not get out.
    problem: str = ""
    fix: str = ""
    #: The program that makes boxes.
    program: str = ""

    @property
    def works(self) -> bool:
        return not self.problem


def require_box() -> str:
    """The program that makes boxes. Raises FleetError unless a box works here.

    Tried once a process: a machine seldom changes.
    """
    trial = _tried()
    if not trial.works:
        _tried.cache_clear()  # what was lacking may be there the next time
        raise FleetError(f"its sandbox cannot be had: {trial.problem}. {trial.fix}")
    return trial.program


@cache
def _tried() -> BoxTrial:
    return try_box(os.environ)


def try_box(env: Mapping[str, str]) -> BoxTrial:
    """Run a program in a box that has to be able to write inside and to fail outside."""
    if sys.platform != "linux":
        return BoxTrial(
            "boxes need Linux: bubblewrap is made of its namespaces",
            "Run fleet in a Linux machine or container, or set sandbox=off.",
        )
    program = _program(env.get("PATH", os.defpath))
    if not program:
        return BoxTrial(f"{_BWRAP} is not on PATH", _INSTALL)
    with TemporaryDirectory(prefix="fleet-box-") as root:
        inside, outside, home = (Path(root, name) for name in ("inside", "outside", "home"))
        for place in (inside, outside, home):
            place.mkdir()
        (outside / "key").write_text("canary", encoding="utf-8")
        own = {**env, "HOME": str(home)}
        box = make_box(own, cwd=str(inside), write=[str(inside)], network=False)
        words = ("/bin/sh", "-c", _TRY, "sh", str(inside), str(outside))
        answer = call([program, *bwrap_argv(box, words)], env=own, cwd="/", timeout=_PATIENCE)
        escaped = (outside / "out").exists()
    if isinstance(answer, CallFailed):
        return BoxTrial(f"{_BWRAP} {answer.problem}", _INSTALL)
    if answer.code == 0 and answer.text == "boxed\n" and not escaped:
        return BoxTrial(program=program)
    if answer.code in (4, 5) or escaped:
        return BoxTrial("what runs in a box got out of it", "Do not rely on this bubblewrap.")
    return BoxTrial(*_lacking(answer.err.strip()))


def _program(path: str) -> str:
    """Not from a relative directory of PATH, which may be one that an agent writes to."""
    places = os.pathsep.join(place for place in path.split(os.pathsep) if place.startswith("/"))
    return shutil.which(_BWRAP, path=places) or ""


def _lacking(words: str) -> tuple[str, str]:
    """Why bubblewrap failed, by the settings of the kernel that forbid boxes."""
    said = words.splitlines()[-1] if words else f"{_BWRAP} failed"
    if os.geteuid() != 0 and _number(_APPARMOR) == 1:
        return f"AppArmor keeps this user from making user namespaces ({said})", _BY_APPARMOR
    if os.geteuid() != 0 and _number(_CLONE) == 0:
        allow = "Allow it: sudo sysctl kernel.unprivileged_userns_clone=1"
        return f"the kernel keeps users from making namespaces ({said})", allow
    if _number(_MOST) == 0:
        allow = "Allow them: sudo sysctl user.max_user_namespaces=10000"
        return f"the kernel allows no user namespaces ({said})", allow
    return said, _IN_CONTAINER


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
