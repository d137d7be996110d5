"""The remote branch that a train pushes to: read before the fold, moved once the fold was verified.

The remote moves before the line does, so that the line never holds what the remote refused.
"""

import os
import time
from contextlib import suppress

from fleet.errors import InvalidTask
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.land_repository import LandRepository
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.push import PushAnswer, fetch_tip, push_forward
from fleet.git.remote.remote_git import RemoteGit, RemoteSilent
from fleet.git.remote.trusted_remotes import is_trusted, untrusted_text
from fleet.git.remote.upstream import NoUpstream, Upstream, upstream_of
from fleet.home import Home

_LIMIT = 30.0


class RemoteLine:
    """The upstream of one branch, with the commit that was read last."""

    def __init__(self, land: LandRepository, upstream: Upstream) -> None:
        self.upstream = upstream
        self.remote = RemoteGit(land.own, upstream.url)
        self._git, self._refs = land.git, land.refs
        #: The commit of the remote branch; empty: it has none.
        self.commit = ""

    def read(self) -> RemoteSilent | None:
        """Read the remote branch, and fetch the commits; None: no problem."""
        found = fetch_tip(self.remote, self._git, self.upstream.ref)
        if isinstance(found, RemoteSilent):
            return found
        self.commit = found
        return None

    def push(self, new: str) -> PushAnswer:
        """Move the remote branch from the commit that was read to one that contains that commit."""
        return push_forward(self.remote, self._git, ref=self.upstream.ref, old=self.commit, new=new)

    def note(self, commit: str) -> None:
        """Note the commit of the remote branch where the project's `git fetch` would, or else the
        project's git calls the branch ahead of the remote.
        """
        ref = self.upstream.tracking
        old = commit_of(self._refs, ref) if ref else ""
        if not ref or (old and not is_ancestor(self._git, old, commit)):
            return  # a person fetched more, or it is for their next fetch to say
        with suppress(GitFailed):
            ask = ("update-ref", "--no-deref", "-m", "fleet: push", ref, commit)
            self._refs.ask(*ask, old or "0" * len(commit))

    @property
    def shown(self) -> str:
        """The remote branch, for people."""
        return f"{self.upstream.remote}/{self.upstream.branch}"


def remote_line(home: Home, land: LandRepository, branch: str) -> RemoteLine | str:
    """The upstream of a branch, if the operator lets fleet push there; else words for a person."""
    try:
        upstream = upstream_of(Git(land.repo, time.monotonic() + _LIMIT), branch)
        if is_trusted(home.path, os.path.realpath(land.repo.common_dir), upstream.url):
            return RemoteLine(land, upstream)
    except NoUpstream as error:
        return f"{error.message}. {error.hint}, and then: fleet land ID"
    except (GitFailed, InvalidTask) as error:
        return f"{error.message}, so that fleet cannot tell where to push"
    return f"{untrusted_text(land.repo.root, upstream)}, and then: fleet land ID"
