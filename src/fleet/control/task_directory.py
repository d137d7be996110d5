"""The directory that a task works in: as a person names it, with branch and repository."""

import os
from pathlib import Path

from fleet.errors import BadInput

#: How a repository gets its first commit.
FIRST_COMMIT = "git commit --allow-empty -m start"


def current_directory() -> str:
    """The directory that a person stands in. Raises BadInput."""
    try:
        return os.getcwd()  # noqa: PTH109 - its error names the case we explain
    except FileNotFoundError:
        raise BadInput(
            "the current directory is gone", hint="Go to one that exists, or give --cwd DIR."
        ) from None


def checked_directory(path: str, flag: str = "--cwd") -> str:
    """An absolute directory that exists, for a task to run in; `flag` is how it was given."""
    if "\0" in path:
        raise BadInput("the directory's name holds a NUL byte")
    full = plain_path(path)
    if not full.exists():
        raise BadInput(
            f"there is no directory {full}", hint=f"Make it first, or give another {flag}."
        )
    if not full.is_dir():
        raise BadInput(
            f"{full} is not a directory", hint=f"Give the directory to work in: {flag} DIR"
        )
    return str(full)


def plain_path(path: str) -> Path:
    """A path as a person gave it, absolute and without `..`; links in it stay, unless a `..` leads
    through one.
    """
    full = Path(path).expanduser().absolute()
    plain = Path(os.path.normpath(full))
    try:
        same = plain == full or plain.samefile(full)
    except OSError:
        return full  # it is not there: named as it was given
    return plain if same else full.resolve()


def without_commit(cwd: str) -> str:
    """The repository of a directory, if its branch has no commit yet: no clone can be made of it,
    and nothing lands there. Empty: it has one, or there is no repository.
    """
    from fleet.git.repository import GitFailed, checked_out_branch, find, is_unborn

    repo = find(cwd)
    branch = checked_out_branch(repo) if repo is not None else ""
    try:
        return repo.root if repo is not None and branch and is_unborn(repo, branch) else ""
    except GitFailed:
        return ""


def is_in_git(cwd: str) -> bool:
    """Whether a directory is in a repository."""
    from fleet.git.repository import find, is_bare

    return find(cwd) is not None or is_bare(cwd)


def branch_at(cwd: str) -> str | None:
    """The branch that a directory has checked out; empty: it has none; None: in no repository."""
    from fleet.git.repository import checked_out_branch, find

    repo = find(cwd)
    return checked_out_branch(repo) if repo is not None else None
