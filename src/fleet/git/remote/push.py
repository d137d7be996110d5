"""Brings commits to a branch of another repository: forward only, and read back.

A push names the value that the remote branch was read at, and moves nothing if the branch has moved
since. What counts is what the remote says afterwards, not how the push ended: a line that broke
after the remote had taken the commits is a success, and a killed process asks again and learns so.
"""

import re

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.remote_git import FETCH, QUESTION, RemoteGit, RemoteSilent, why_failed
from fleet.git.remote.upstream import without_password
from fleet.processes.bounded_call import Exited

#: Prefix of the refs in fleet's own repository that keep what a remote branch was read at.
_KEPT = "refs/fleet/remote/"
_NAME = re.compile(r"[0-9a-f]{40,64}")


class Pushed(Struct, frozen=True, kw_only=True):
    """The remote branch holds the commit."""

    #: What the remote branch stands at: the commit, or one that another hand put on top of it.
    now: str


class RemoteMoved(Struct, frozen=True, kw_only=True):
    """The remote branch moved since it was read, so nothing was pushed: read and fold again."""

    now: str


class RemoteRefused(Struct, frozen=True, kw_only=True):
    """The remote does not want the commit: a rule or hook there, or no right to push."""

    why: str


PushAnswer = Pushed | RemoteMoved | RemoteRefused | RemoteSilent


def fetch_tip(remote: RemoteGit, git: Git, ref: str) -> str | RemoteSilent:
    """The commit of a remote branch, which is brought to fleet's own repository, where `git` is;
    empty: the remote has no such branch.
    """
    found = _read(remote, ref)
    if isinstance(found, RemoteSilent) or not found:
        return found
    kept = f"{_KEPT}{ref.removeprefix('refs/heads/')}"
    if commit_of(git, f"{found}^{{commit}}"):
        git.ask("update-ref", "--no-deref", kept, found)
        return found
    done = remote.ask(*FETCH, remote.url, f"{ref}:{kept}")
    if isinstance(done, RemoteSilent):
        return done
    # The branch may have moved between the two questions: what was fetched counts.
    return git.line("rev-parse", "--verify", f"{kept}^{{commit}}")


def push_forward(remote: RemoteGit, git: Git, *, ref: str, old: str, new: str) -> PushAnswer:
    """Move a remote branch from the commit that was read to one that contains that commit.

    `old` is empty where there is no such branch yet.
    """
    if old and not is_ancestor(git, old, new):
        return RemoteMoved(now=old)
    return push_task_branch(remote, git, ref=ref, old=old, new=new)


def push_task_branch(remote: RemoteGit, git: Git, *, ref: str, old: str, new: str) -> PushAnswer:
    """Move a branch of fleet's own making, as `push_forward` does, but also to a commit that lacks
    the old one: a task that was sent back may have another history now.

    What the push came to is what the remote says afterwards.
    """
    lease = f"--force-with-lease={ref}:{old}"
    done = remote.judge("push", "--porcelain", "--atomic", lease, remote.url, f"{new}:{ref}")
    if isinstance(done, RemoteSilent):
        return done
    tip = fetch_tip(remote, git, ref)
    if isinstance(tip, RemoteSilent):
        return tip
    # A git that fails must not pass for one that says no: the same would be pushed twice.
    if tip and git.judge("merge-base", "--is-ancestor", new, tip)[0]:
        return Pushed(now=tip)
    if tip != old:
        return RemoteMoved(now=tip)
    refused = why_refused(done)
    return RemoteRefused(why=refused) if refused else RemoteSilent(why=why_failed(done))


def delete_branch(remote: RemoteGit, *, ref: str, commit: str) -> Pushed | RemoteSilent:
    """Delete a remote branch that stands at this commit; one that moved, or is gone, is left."""
    found = _read(remote, ref)
    if isinstance(found, RemoteSilent) or found != commit:
        return found if isinstance(found, RemoteSilent) else Pushed(now=found)
    lease = f"--force-with-lease={ref}:{commit}"
    done = remote.ask("push", "--porcelain", lease, remote.url, f":{ref}")
    return done if isinstance(done, RemoteSilent) else Pushed(now="")


def why_refused(done: Exited) -> str:
    """Why the remote refused the branch, by what `git push --porcelain` printed. Pure.

    Empty: it did not say that it refused; the push ended before that.
    """
    for line in done.text.splitlines():
        flag, _, rest = line.partition("\t")
        if flag == "!" and "[remote rejected]" in rest:
            why = rest.partition("[remote rejected]")[2].strip().strip("()")
            said = [text for text in map(_remote_line, done.err.splitlines()) if text]
            return without_password(f"{why}: {' '.join(said)}" if said else why)[:500]
    return ""


def _remote_line(line: str) -> str:
    """What a hook of the remote printed in a line of the error stream."""
    return line.removeprefix("remote:").strip() if line.startswith("remote:") else ""


def _read(remote: RemoteGit, ref: str) -> str | RemoteSilent:
    """The commit of a remote branch, as the remote says; empty: it has none."""
    done = remote.ask("ls-remote", "--quiet", remote.url, ref, at_most=QUESTION)
    if isinstance(done, RemoteSilent):
        return done
    for line in done.text.splitlines():
        commit, _, name = line.partition("\t")
        if name == ref and _NAME.fullmatch(commit):
            return commit
    return ""
