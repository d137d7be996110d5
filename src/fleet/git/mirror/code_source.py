"""Where other hosts would get the code of a directory from: the address of the repository, the
commit that is checked out, and the directory's place below the top.

Read from the project's files alone: nothing is fetched, and on the way to every new task no git is
started.
"""

import os
import re

from msgspec import Struct

from fleet.git import repository
from fleet.git.remote.upstream import plain_address
from fleet.git.repository import COMMIT, GitFailed, Repository, checked_out, commit_in_files

_USUAL = "origin"
_SECTION = re.compile(rb'\s*\[remote "([^"\\\]]*)"\]\s*')
_URL = re.compile(rb"\s*url\s*=\s*(.*?)\s*", re.IGNORECASE)


class CodeSource(Struct, frozen=True, kw_only=True):
    """The code of a directory, as another host could get it."""

    #: Without a password. Empty: the repository has no remote that another host could reach.
    url: str
    #: The commit that is checked out; empty: there is none yet.
    commit: str
    #: The directory below the top of the repository; empty: the top itself.
    subdirectory: str
    repo: Repository


def code_source(cwd: str, address: str = "") -> CodeSource | None:
    """The code of a directory; None: the directory is in no repository. `address` takes the place
    of origin's.

    A configuration that cannot be read names no remote.
    """
    repo = repository.find(cwd)
    if repo is None:
        return None
    try:
        url = address or origin_url(repository.configuration(repo))
    except GitFailed:
        url = ""
    inside = os.path.relpath(os.path.realpath(cwd), repo.root)
    return CodeSource(
        url=plain_address(url, repo.root) if url else "",
        commit=head_commit(repo),
        subdirectory="" if inside == "." else inside,
        repo=repo,
    )


def origin_url(config: bytes) -> str:
    """The address of origin, or of the only remote, in a repository's configuration. Pure."""
    found: dict[str, str] = {}
    remote = ""
    for line in config.splitlines():
        if line.lstrip().startswith(b"["):
            section = _SECTION.fullmatch(line)
            remote = section[1].decode(errors="replace") if section else ""
        elif remote and (url := _URL.fullmatch(line)):
            found[remote] = url[1].strip(b'"').decode(errors="replace")
    if _USUAL in found or len(found) != 1:
        return found.get(_USUAL, "")
    return next(iter(found.values()))


def head_commit(repo: Repository) -> str:
    """The commit that is checked out, by the repository's files; empty: none is, or they are in a
    form that only git reads.
    """
    head = checked_out(repo.git_dir)
    if head.startswith("refs/"):
        return commit_in_files(repo, head) or ""
    return head if re.fullmatch(COMMIT, head) else ""
