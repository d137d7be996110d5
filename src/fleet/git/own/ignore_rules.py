"""Which new files do not count: the rules of `info/exclude` and of the user, as one plain file.

The `.gitignore` files of the working tree are read by git itself. The other rules stand outside of
the tree; a copy of them is kept for the end of the run, when an agent may have changed them.
"""

import os
import shutil

from fleet.git.repository import Repository, read_whole
from fleet.processes.bounded_call import Exited, call

_SECONDS = 5.0
_PASSES = ("PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")


def ignore_rules(repo: Repository) -> bytes:
    """The rules for a project as they stand now; where two contradict, the later one counts."""
    return b"\n".join(map(read_whole, (_users_file(), f"{repo.common_dir}/info/exclude")))


def _users_file() -> str:
    """The file that the user's own configuration names, or git's default."""
    program = shutil.which("git")
    if program is not None:
        env = {name: os.environ[name] for name in _PASSES if name in os.environ}
        ask = [program, "config", "--type=path", "--get", "core.excludesFile"]
        # In no repository, so that none has a say.
        result = call(ask, timeout=_SECONDS, cwd="/", env={**env, "GIT_DIR": os.devnull})
        if isinstance(result, Exited) and result.code == 0 and result.out.strip():
            return os.fsdecode(result.out.removesuffix(b"\n"))
    folder = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME') or ''}/.config"
    return f"{folder}/git/ignore"
