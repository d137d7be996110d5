"""The remote branch that a branch of a project is pushed to, by the project's own configuration.

What stands there is only read: an agent without a box may have written it. Whether fleet may push
to the address is the operator's word (`git/remote/trusted_remotes.py`).
"""

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from fleet.errors import FleetError
from fleet.git.clone.source_facts import plain_url
from fleet.git.git_command import Git, GitFailed

#: Addresses that git reaches by a program of its own: `git@host:path`, and these schemes.
_SCHEMES = ("ssh://", "https://", "http://", "git://", "file://")
_SCP = re.compile(r"[A-Za-z0-9_.@\[\]:~-]+:[^:].*")
_USUAL = "origin"


class Upstream(Struct, frozen=True, kw_only=True):
    """A branch in another repository."""

    remote: str
    #: The address, absolute if it is a path.
    url: str
    #: The name of the branch there, without `refs/heads/`.
    branch: str
    #: The project's own note of where that branch stands, which `git fetch` moves; empty: it keeps
    #: none.
    tracking: str = ""

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    @property
    def shown(self) -> str:
        """The address for people, without a password."""
        return without_password(self.url)


class NoUpstream(FleetError):
    """A branch leads nowhere, or to an address that fleet does not use."""


def upstream_of(git: Git, branch: str) -> Upstream:
    """Where a branch of the project is pushed to. Raises NoUpstream with the way out.

    The remote is the one that the branch follows, else `origin`, else the only one that there is.
    """
    root = git.repo.root
    known = git.line("remote").splitlines()
    remote = _get(git, f"branch.{branch}.remote")
    if remote == ".":
        raise NoUpstream(
            f"{branch} in {root} follows another branch of the same repository, and no remote",
            hint=f"Set its upstream: git -C {root} push -u origin {branch}",
        )
    if not remote:
        remote = _USUAL if _USUAL in known else known[0] if len(known) == 1 else ""
    if not remote:
        raise NoUpstream(
            f"{root} has {'no remote' if not known else 'several remotes'}, so fleet cannot tell"
            f" where {branch} is pushed to",
            hint=f"Set its upstream: git -C {root} push -u REMOTE {branch}",
        )
    url = _get(git, f"remote.{remote}.pushurl") or _get(git, f"remote.{remote}.url")
    there = _get(git, f"branch.{branch}.merge").removeprefix("refs/heads/") or branch
    rules = _get(git, f"remote.{remote}.fetch", "--get-all").splitlines()
    return Upstream(
        remote=remote,
        url=checked_url(url, root),
        branch=there,
        tracking=tracking_ref(rules, f"refs/heads/{there}"),
    )


def tracking_ref(rules: Sequence[str], ref: str) -> str:
    """Where `git fetch` notes a branch by a remote's `fetch` rules; empty: nowhere. Pure.

    Only below `refs/remotes/`: a rule that leads elsewhere would have a push move a branch.
    """
    for rule in rules:
        source, _, target = rule.removeprefix("+").partition(":")
        before, star, after = source.partition("*")
        fits = ref.startswith(before) and ref.endswith(after) and len(ref) >= len(before + after)
        if star and fits:
            target = target.replace("*", ref[len(before) : len(ref) - len(after)], 1)
        elif source != ref:
            continue
        if target.startswith("refs/remotes/"):
            return target
    return ""


def checked_url(url: str, root: str) -> str:
    """The address, with a path made absolute. Raises NoUpstream for one that runs a program."""
    if "::" in url or url.startswith("-") or not url or not url.isprintable():
        raise NoUpstream(
            f"fleet does not push to {url!r}" if url else f"a remote of {root} has no address",
            hint="Give the remote an ssh or https address, or a path: git remote set-url",
        )
    is_path = url.startswith(("/", ".")) or not (url.startswith(_SCHEMES) or _SCP.fullmatch(url))
    return os.path.normpath(os.path.join(root, url)) if is_path else url  # noqa: PTH118


def plain_address(url: str, root: str = "/") -> str:
    """An address as every host writes it: without a password and without a slash at the end; empty
    for one that git cannot fetch. Pure.
    """
    plain = plain_url(url, root) or ""
    return plain.rstrip("/") if len(plain) > 1 else plain


def without_password(url: str) -> str:
    """A text with addresses, without their passwords. Pure."""
    return re.sub(r"\b([a-z+]+://[^/@:\s]*):[^/@\s]*@", r"\1:***@", url)


def _get(git: Git, name: str, how: str = "--get") -> str:
    """A value of the project's own configuration; of several the last, as in git."""
    try:
        return git.line("config", "--local", "--no-includes", how, name)
    except GitFailed:
        return ""
