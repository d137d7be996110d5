"""A project's repository for landing: fleet's own git directory to fold in, and the refs.

The git directory is one a repository, whichever of its working trees a task was made in. Its
working tree is an empty directory, so that git reads attributes from the commits alone.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from fleet.errors import FleetError
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import refs_of
from fleet.git.repository import Repository

_EMPTY = "empty"
#: One of 256 directories of objects, and how many in there are a sign of many in all.
_SAMPLE, _MANY = "17", 27
#: The first git that can merge without an index and a working tree.
_OLDEST = (2, 38)
_VERSION = re.compile(r"(\d+)\.(\d+)")


class LandRepository:
    """One repository, until a moment of the monotonic clock. Raises FleetError if git is too old,
    and GitFailed if the repository cannot be read.
    """

    def __init__(self, home: Path, repo: Repository, until: float) -> None:
        #: The project, by the working tree that it was asked for.
        self.repo = repo
        self.until = until
        #: The repository without regard to a working tree.
        self.common = Repository(
            root=repo.common_dir, git_dir=repo.common_dir, common_dir=repo.common_dir
        )
        self.own = own_repository(home, self.common)
        empty = Path(self.own.git_dir) / _EMPTY
        empty.mkdir(mode=0o700, exist_ok=True)
        place = self.own.git_dir
        #: Git in fleet's own directory, which reads the project's objects too.
        self.git = Git(Repository(root=str(empty), git_dir=place, common_dir=place), until)
        #: Git for the refs of the project.
        self.refs = refs_of(self.own, self.common, until)
        require_git(self.git)

    def tidy(self) -> None:
        """Delete old folds, if there are many: what landed is in the project by now."""
        sample = Path(self.own.git_dir) / "objects" / _SAMPLE
        if sample.is_dir() and len(os.listdir(sample)) >= _MANY:  # noqa: PTH208
            with suppress(GitFailed):
                self.git.ask("prune", "--expire=1.day.ago")


def require_git(git: Git) -> None:
    """Raise FleetError unless git can merge without a working tree."""
    said = _version(git)
    if not is_new_enough(said):
        raise FleetError(
            f"landing needs git {'.'.join(map(str, _OLDEST))} or later, and this is {said!r}",
            hint="Install a newer git, or switch landing off: fleet config set land off",
        )


#: What `git version` said, by the program and its time of change: asked once a process.
_SAID: dict[tuple[str, float], str] = {}


def _version(git: Git) -> str:
    key = git.program, os.stat(git.program).st_mtime if git.program else 0.0  # noqa: PTH116
    if key not in _SAID:
        _SAID[key] = git.line("version")
    return _SAID[key]


def is_new_enough(said: str) -> bool:
    """Whether `git version` names a git that landing can work with. Pure."""
    found = _VERSION.search(said)
    return found is not None and (int(found[1]), int(found[2])) >= _OLDEST
