"""The real supervisor, which notes each path below a place of a living agent that it opens by name.

Such a path can lead anywhere by the time it is opened. `AgentPlace` and the drop box open the place
itself, and all that follows below descriptors. Each line of `watched` in the home is one finding;
`opened` counts the places that were opened as they should be.
"""

import os
import re
import sys
import traceback
from pathlib import Path

from fleet import control
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.supervisor.loop import Supervisor

#: What an agent in a box can write, below the home, with the task that it belongs to.
PLACE = re.compile(
    r"/(?:worktrees/(?P<clone>[^/.][^/]*)"
    r"|tasks/(?P<task>[^/]+)/(?:artifacts|runs/\d+/(?:spool|cli)))(?P<below>/.+)?"
)
#: The first arguments of these are paths; of others, none is.
PATHS = {"os.rename": 2, "os.link": 2, "os.symlink": 2, "shutil.move": 2, "shutil.copyfile": 2}
ONE = (
    "open", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir", "os.chmod", "os.chown",
    "os.utime", "os.truncate", "os.chdir", "os.walk", "os.fwalk", "shutil.rmtree",
    "shutil.copymode", "shutil.copystat", "shutil.copytree", "os.setxattr", "os.removexattr",
)  # fmt: skip

fleet = control.opened()
home = os.path.realpath(fleet.home.path)
findings = os.open(f"{home}/watched", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
opened = os.open(f"{home}/opened", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def is_alive(task: str) -> bool:
    """A run of the task has begun and not ended."""
    runs = Path(home, "tasks", task, "runs")
    try:
        found = list(runs.iterdir())
    except OSError:
        return False
    return any((run / "started").exists() and not (run / "exit.json").exists() for run in found)


def watch(event: str, args: tuple) -> None:
    if event == "subprocess.Popen":
        env = args[3] or {}
        names = [args[2], env.get("GIT_WORK_TREE")]
    elif event in ONE or event in PATHS:
        names = args[: PATHS.get(event, 1)]
    else:
        return
    for name in names:
        text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
        place = PLACE.fullmatch(text.removeprefix(home)) if text.startswith(f"{home}/") else None
        if place is None or not is_alive(place["clone"] or place["task"]):
            continue
        is_place = not place["below"] and event in ("open", "os.scandir", "os.listdir")
        where = [f"{Path(each.filename).name}:{each.lineno}" for each in traceback.extract_stack()]
        line = f"{event} {text} {' '.join(where[-5:-1])}\n"
        os.write(opened if is_place else findings, line.encode(errors="replace"))


sys.addaudithook(watch)
with sole_supervisor(fleet.home):
    Supervisor(fleet.home, fleet.config, until_idle=True).run()
