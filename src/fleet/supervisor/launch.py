"""From a lease to a living run: place, coder, prompt, environment, keeper."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from fleet import coders
from fleet.coders.base import Coder, Options
from fleet.coders.environment import agent_env
from fleet.config import Config
from fleet.errors import FleetError
from fleet.schemas import Lease, Task
from fleet.supervisor.history import history
from fleet.supervisor.live import Live
from fleet.supervisor.process import Busy, start_keeper
from fleet.taskdir import Home
from fleet.taskdir.place import place_of
from fleet.taskdir.rundir import Run, Spec, new_run


class Unfit(Struct, frozen=True):
    """The task cannot run as it is; a person has to mend it."""

    why: str


class Ready(Struct, frozen=True, kw_only=True):
    """All that a run needs, before anything was started."""

    task: Task
    coder: Coder
    env: Mapping[str, str]


def run_id(lease: Lease) -> str:
    """One run a lease: the id tells, after a crash, whether this lease's run was ever prepared."""
    return f"{lease.owner}.{lease.task.id}.{lease.fence}"


def make_ready(
    home: Home, config: Config, lease: Lease, *, coder: str | None, shims: Path
) -> Ready | Unfit:
    """Resolve where and with what a task runs. Touches nothing."""
    try:
        place = place_of(home, config, lease.task, coder=coder)
        driver = coders.make(
            place.coder,
            place.model,
            Options(permissions=config.permissions, last_ending=_last_ending(home, lease.task)),
            home.path,
            inherited=not place.own_model,
        )
    except FleetError as error:
        return Unfit(error.message)
    if not Path(place.cwd).is_dir():
        return Unfit(f"its directory {place.cwd} is not there")
    task = structs.replace(lease.task, cwd=place.cwd, coder=place.coder, model=place.model)
    extra = {
        "FLEET_HOME": str(home.path),
        "PATH": f"{shims}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
    env = agent_env(os.environ, driver, task, home.task(task.id), extra)
    return Ready(task=task, coder=driver, env=env)


def launch(home: Home, config: Config, lease: Lease, ready: Ready) -> Live | Busy | Unfit:
    """Prepare the run's directory and start its keeper."""
    task, coder = ready.task, ready.coder
    task_dir = home.task(task.id)
    (task_dir / "artifacts").mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        prompt = coder.prompt(task, task_dir).encode(errors="replace")
        if not coder.prompt_on_stdin:
            coder.prompt_file(task_dir).write_bytes(prompt)
        argv = tuple(coder.build_argv(task, task_dir))
    except Exception as error:  # noqa: BLE001 - a coder may be anybody's code
        return Unfit(f"coder {coder.name} failed: {type(error).__name__}: {error}")
    spec = Spec(
        id=run_id(lease),
        argv=argv,
        cwd=str(task.cwd),
        stdin="prompt.md" if coder.prompt_on_stdin else None,
        grace=float(config.grace_s),
    )
    run = new_run(task_dir, spec, prompt)
    env = {**ready.env, "FLEET_RUN_DIR": str(run.path)}
    live = Live(lease, run, coder, env=env)
    _point_to(task_dir / "log.stderr", run)
    keeper = start_keeper(run, env)
    if isinstance(keeper, Busy):
        return keeper
    live.keeper = keeper
    return live


def _last_ending(home: Home, task: Task) -> str:
    last = history(home.task(task.id)).last
    return last.why if last is not None else ""


def _point_to(link: Path, run: Run) -> None:
    """`log.stderr` leads to the latest run's."""
    fresh = link.with_name(f".{link.name}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(run.stderr.relative_to(link.parent))
    fresh.replace(link)
