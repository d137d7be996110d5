"""What a clone takes over of the project's repository: refs, author, plain remotes; and the git
directory that is made of these.

The objects of the project are shared, and only read. Branches, tags and remote branches are copies:
what an agent does to them changes nothing in the project. Settings that make git run something are
not taken over: hooks, filters, drivers, helpers, and remotes that name a program.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.checkout.shared_paths import exclude_lines
from fleet.git.git_command import Git
from fleet.git.own.fresh_git_dir import write_alternates, write_git_dir
from fleet.git.own.own_repository import object_stores
from fleet.git.refs import OURS
from fleet.git.repository import Repository, read_bounded
from fleet.git.user_settings import settings_of
from fleet.home import Home, clone_record

#: Settings that say how files are written and compared, and run nothing.
PLAIN = ("autocrlf", "eol", "filemode", "ignorecase", "precomposeunicode", "symlinks")
_REMOTE = re.compile(r"remote\.([A-Za-z0-9][A-Za-z0-9._-]*)\.url")
_SCHEMES = ("https", "http", "ssh", "git")
_SCP_LIKE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:@[A-Za-z0-9][A-Za-z0-9._-]*)?:(?!:)\S+")


class SourceFacts(Struct, frozen=True, kw_only=True):
    """A project's repository, as far as a clone needs to know."""

    repo: Repository
    #: The directory of its objects.
    objects: str
    sha256: bool
    #: Commits at which the history is cut off, as git keeps them; None: a whole history.
    shallow: bytes | None
    #: What a person told git to ignore in this project.
    exclude: bytes
    #: `[user]`, `[core]` and `[remote]` of the clone, as text for its configuration.
    config: str


def facts_of(repo: Repository) -> SourceFacts:
    """Read what a clone needs to know. Raises GitFailed."""
    settings = settings_of(repo)
    return SourceFacts(
        repo=repo,
        objects=os.path.realpath(f"{repo.common_dir}/objects"),
        sha256=settings.get("extensions.objectformat") == "sha256",
        shallow=read_bounded(f"{repo.common_dir}/shallow"),
        exclude=read_bounded(f"{repo.common_dir}/info/exclude") or b"",
        config=clone_config(settings, repo),
    )


def make_git_dir(
    place: Path, git: Git, branch: str, commit: str, shared: Iterable[str] = ()
) -> None:
    """Make a git directory for a clone of git's repository, with `branch` at `commit`. `shared`:
    the links that the clone has to what the project shares.
    """
    facts = facts_of(git.repo)
    write_git_dir(place, sha256=facts.sha256, config=facts.config)
    write_alternates(place, [facts.objects])
    (place / "packed-refs").write_bytes(packed_refs(git, {branch: commit}))
    (place / "info/exclude").write_bytes(facts.exclude + b"\n" + exclude_lines(shared))
    if facts.shallow is not None:
        (place / "shallow").write_bytes(facts.shallow)
    (place / "HEAD").write_text(f"ref: {branch}\n", encoding="utf-8")


def objects_of_clone(home: Home, task_id: str) -> list[str]:
    """The directories of objects that have to be readable for git to work in a task's clone;
    nothing for a task without one.

    The project is asked, and not the clone, whose agent may write what it borrows from.
    """
    try:
        record = clone_record.read(home, task_id)
        repo = repository.find(record.repository) if record is not None else None
        return object_stores(repo) if repo is not None and home.clone(task_id).is_dir() else []
    except FleetError:
        return []


def packed_refs(git: Git, own: Mapping[str, str]) -> bytes:
    """The project's branches, tags and remote branches, and `own` refs, as a file `packed-refs`."""
    listed = git.ask_patiently("for-each-ref", "--format=%(objectname) %(refname)")
    found: dict[bytes, bytes] = {}
    for line in listed.splitlines():
        commit, _, name = line.partition(b" ")
        if not name.startswith((OURS.encode(), b"refs/worktree/", b"refs/stash")):
            found[name] = commit
    found |= {name.encode(): commit.encode() for name, commit in own.items()}
    lines = [found[name] + b" " + name + b"\n" for name in sorted(found)]
    return b"# pack-refs with: sorted \n" + b"".join(lines)


def clone_config(settings: Mapping[str, str], repo: Repository) -> str:
    """The part of a clone's configuration that comes from the project's. Pure."""
    lines = ["[gc]", "\tauto = 0", "[core]", "\tlogAllRefUpdates = true"]
    lines += [
        f"\t{name} = {_value(settings[key])}"
        for name in PLAIN
        if (key := f"core.{name}") in settings
    ]
    who = [name for name in ("name", "email") if settings.get(f"user.{name}")]
    lines += ["[user]"] if who else []
    lines += [f"\t{name} = {_value(settings[f'user.{name}'])}" for name in who]
    for name, url in _remotes(settings, repo):
        lines += [f'[remote "{name}"]', f"\turl = {_value(url)}"]
        lines += [f"\tfetch = +refs/heads/*:refs/remotes/{name}/*"]
    return "\n".join(lines) + "\n"


def _remotes(settings: Mapping[str, str], repo: Repository) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        found = _REMOTE.fullmatch(key)
        url = plain_url(value, repo.root) if found else None
        if found and url is not None and not _leads_to(url, repo):
            yield found[1], url


def plain_url(url: str, root: str) -> str | None:
    """The address of a remote without a password; None for one that git alone cannot fetch, like
    `ext::PROGRAM`. Pure.
    """
    if not url.isprintable() or url.startswith("-"):
        return None
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:  # an address like `https://[`
            return None
        if parts.scheme == "file":
            return url
        if parts.scheme not in _SCHEMES:
            return None
        user, _, host = parts.netloc.rpartition("@")
        # What stands before the host of https is a token as often as a name.
        name = user.partition(":")[0] if parts.scheme == "ssh" else ""
        return urlunsplit(parts._replace(netloc=f"{name}@{host}" if name else host))
    if url.startswith(("/", "./", "../")):
        return os.path.normpath(os.path.join(root, url))  # noqa: PTH118
    return url if _SCP_LIKE.fullmatch(url) else None


def _leads_to(url: str, repo: Repository) -> bool:
    """The address is the project's own repository, which an agent must not push into."""
    place = url.removeprefix("file://")
    if not place.startswith("/"):
        return False
    return os.path.realpath(place) in {
        os.path.realpath(each) for each in (repo.root, repo.git_dir, repo.common_dir)
    }


def _value(text: str) -> str:
    """A value as git's configuration has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
