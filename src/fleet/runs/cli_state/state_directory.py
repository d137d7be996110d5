"""The state directory of a run's CLI: `tasks/<id>/runs/<n>/cli`.

Only runs in a box have one. The box mounts the directory where the CLI looks for its own state, so
the agent writes here and nowhere in the operator's own directory. Everything in it is the agent's.
"""

from collections.abc import Mapping
from pathlib import Path

from fleet.runs.run_directory import Run

FOLDER = "cli"


def state_directory(run: Run) -> Path:
    """The run's own CLI state. The directory exists from the start of a boxed run until its
    session is kept.
    """
    return run.path / FOLDER


def followed_env(run: Run, variable: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """The agent's environment as it leads to the CLI's files outside of the box; `variable` names
    the state directory.
    """
    state = state_directory(run)
    if variable in ("", "HOME") or not state.is_dir():
        return env
    return {**env, variable: str(state)}
