"""What git's configuration says in a project, the user's own files included; and which new files
do not count there by the user's own rules.

Everywhere else fleet's git reads no configuration of the user's. Here it does, and does nothing but
list the settings, which starts no program that they name.
"""

import os
import shutil
from collections.abc import Mapping
from functools import lru_cache

from fleet.files.machine_short import is_short, named_in
from fleet.git.git_command import GitFailed
from fleet.git.repository import Repository, read_whole
from fleet.processes.bounded_call import Exited, call

_LIMIT = 10.0
_PASSES = ("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME")


def settings_of(repo: Repository | None) -> dict[str, str]:
    """All settings that git would use in a project, or outside of any. The last of a name counts.

    Raises GitFailed.
    """
    env = {name: os.environ[name] for name in _PASSES if name in os.environ}
    git_dir = repo.git_dir if repo is not None else os.devnull
    env |= {"LC_ALL": "C", "GIT_DIR": git_dir, "GIT_OPTIONAL_LOCKS": "0"}
    env |= {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG_")}
    argv = [shutil.which("git") or "git", "config", "--includes", "--null", "--list"]
    result = call(argv, cwd=repo.root if repo is not None else "/", env=env, timeout=_LIMIT)
    if not isinstance(result, Exited) or result.code != 0:
        why = result.problem or result.err.strip()[:500]
        where = repo.root if repo is not None else "git"
        error = None if isinstance(result, Exited) else result.error
        short = error.errno if isinstance(error, OSError) else named_in(result.err)
        raise GitFailed(f"the settings of {where} cannot be read: {why}", errno=short)
    found: dict[str, str] = {}
    for entry in result.out.decode(errors="surrogateescape").split("\0"):
        name, _, value = entry.partition("\n")
        found[name] = value
    return found


def users_file(settings: Mapping[str, str], name: str) -> str:
    """The file of the user's own that git reads beside those of a project: `ignore` or
    `attributes`, where the settings name no other.
    """
    named = settings.get(f"core.{'excludes' if name == 'ignore' else name}file")
    return os.path.expanduser(named or f"{_folder()}/git/{name}")  # noqa: PTH111


def ignore_rules(repo: Repository) -> bytes:
    """The rules for a project that stand outside of its tree, as one plain file; where two
    contradict, the later one counts. `.gitignore` files are read by git itself.

    A copy is kept for the end of a run, when an agent may have changed them.
    """
    settings: dict[str, str] = {}
    try:
        settings = settings_of(None)  # in no repository, so that none has a say
    except GitFailed as error:  # settings that git cannot read
        if is_short(error):
            raise
    files = (users_file(settings, "ignore"), f"{repo.common_dir}/info/exclude")
    return b"\n".join(map(read_whole, files))


def known_settings(repo: Repository | None) -> Mapping[str, str]:
    """The same, read anew only if a file with settings was written since; files that they include
    are not looked at for that. Raises GitFailed.
    """
    return _read_once(repo, _marks(repo))


@lru_cache(maxsize=256)
def _read_once(repo: Repository | None, marks: tuple[int, ...]) -> Mapping[str, str]:
    del marks  # with other marks the settings are read again
    return settings_of(repo)


def _marks(repo: Repository | None) -> tuple[int, ...]:
    """When the files with settings were written."""
    user = os.environ.get("GIT_CONFIG_GLOBAL") or f"{os.environ.get('HOME') or ''}/.gitconfig"
    places = [user, f"{_folder()}/git/config"]
    if repo is not None:
        places += [f"{repo.common_dir}/config", f"{repo.git_dir}/config.worktree"]
    return tuple(map(_written, places))


def _folder() -> str:
    return os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME') or ''}/.config"


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - on the way to every run
    except OSError:
        return 0
