"""`refs/fleet/<id>/<run>` in the repository: what a run left. The host that ran it pushes it, for
the next host and for the lander; and where a host keeps what it fetched.
"""

import os
import time

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.own.copied_objects import copy_commits
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import refs_of, write_refs
from fleet.git.refs import OURS, commit_of
from fleet.git.remote.push import Pushed, RemoteMoved, RemoteRefused, push_task_branch
from fleet.git.remote.remote_git import FETCH, RemoteGit, RemoteSilent
from fleet.git.remote.trusted_remotes import is_trusted
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.home.clone_record import ref_word

#: Below the refs of a task in a project or mirror: what was fetched of other hosts.
_FETCHED = "from"
#: In place of a run's number: the state that the task begins from, of `--with-changes`.
BASE = "base"
_LIMIT = 600.0
_NO_SUCH_REF = "couldn't find remote ref"


class ResultPushed(Struct, frozen=True, kw_only=True):
    """The repository holds the work of a run."""

    commit: str
    ref: str


def fetched_ref(task_id: str, run: str, *, there: bool = False) -> str:
    """Where the work of a run is kept after a fetch; `there`: the name in the repository."""
    own = f"{OURS}{ref_word(task_id)}"
    return f"{own}/{run}" if there else f"{own}/{_FETCHED}/{run}"


def push_result(
    home: Home,
    repo: Repository,
    url: str,
    task_id: str,
    run: str,
    commit: str,
) -> ResultPushed | RemoteRefused | RemoteSilent:
    """Push the work of a run to the repository. What the repository says afterwards counts.

    The same push again changes nothing, so that a killed host may repeat it.
    """
    own = own_repository(home.path, repo)
    ref = fetched_ref(task_id, run, there=True)
    git = Git(own, time.monotonic() + _LIMIT)
    remote = RemoteGit(own, url)
    old = ""
    for _ in range(3):  # another value of the same run: of this host, before it was killed
        answer = push_task_branch(remote, git, ref=ref, old=old, new=commit)
        if isinstance(answer, Pushed):
            return ResultPushed(commit=commit, ref=ref)
        if not isinstance(answer, RemoteMoved):
            return answer
        old = answer.now
    return RemoteSilent(why=f"{ref} moves all the time")


def bring_result(
    home: Home, repo: Repository, url: str, task_id: str, run: str
) -> str | RemoteSilent:
    """The commit that a host pushed for a run, now in this project or mirror; empty: there is none.

    Raises GitFailed if it cannot be stored.
    """
    until = time.monotonic() + _LIMIT
    kept = fetched_ref(task_id, run)
    if known := commit_of(Git(repo, until), kept):
        return known
    if not is_trusted(home.path, os.path.realpath(repo.common_dir), url):
        return RemoteSilent(why=f"it is not confirmed here: fleet trust --remote {repo.root}")
    own = own_repository(home.path, repo)
    there = fetched_ref(task_id, run, there=True)
    done = RemoteGit(own, url).ask(*FETCH, url, f"{there}:{kept}")
    if isinstance(done, RemoteSilent):
        return "" if _NO_SUCH_REF in done.why else done
    git = Git(own, until)
    commit = commit_of(git, kept)
    refs = refs_of(own, repo, until)
    listed = refs.ask_patiently("for-each-ref", "--format=^%(objectname)")
    copy_commits(git, [commit], listed, f"{repo.common_dir}/objects")
    write_refs(own, repo, until, to={kept: commit})
    return commit
