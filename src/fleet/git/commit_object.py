"""Commits read and written as git stores them: with any author, and the same bytes for the same
facts.
"""

import time

from msgspec import Struct

from fleet.git.commit_words import Author
from fleet.git.git_command import Git, GitFailed


class CommitFacts(Struct, frozen=True, kw_only=True):
    """What a commit object says."""

    tree: str
    parents: tuple[str, ...]
    #: Author with time, as git stores it.
    author: bytes
    #: When it was made, in seconds.
    at: int
    #: The header of the encoding, and the message.
    encoding: bytes
    message: bytes

    @property
    def subject(self) -> str:
        return self.message.decode(errors="replace").strip().partition("\n")[0]


def read_commit(git: Git, commit: str) -> CommitFacts:
    """Read a commit. Raises GitFailed if there is none, or it is damaged."""
    return _parsed(commit, git.ask("cat-file", "commit", commit))


def read_commits(git: Git, *commits: str) -> list[CommitFacts]:
    """Read some commits with one question. Raises GitFailed."""
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    data = git.ask("cat-file", "--batch=%(objecttype) %(objectsize)", feed=feed)
    found: list[CommitFacts] = []
    for commit in commits:
        about, _, data = data.partition(b"\n")
        kind, _, size = about.partition(b" ")
        if kind != b"commit":
            raise GitFailed(f"{commit} is no commit that can be read")
        found.append(_parsed(commit, data[: int(size)]))
        data = data[int(size) + 1 :]
    return found


def _parsed(commit: str, data: bytes) -> CommitFacts:
    head, _, message = data.partition(b"\n\n")
    lines = [line.partition(b" ") for line in head.split(b"\n")]
    found = {name: value for name, _, value in lines if name}
    try:
        return CommitFacts(
            tree=found[b"tree"].decode(),
            parents=tuple(value.decode() for name, _, value in lines if name == b"parent"),
            author=found[b"author"],
            at=int(found[b"committer"].rsplit(b" ", 2)[1]),
            encoding=found.get(b"encoding", b""),
            message=message,
        )
    except (KeyError, ValueError, IndexError):
        raise GitFailed(f"{commit} is no commit that can be read") from None


def write_commit(
    git: Git,
    tree: str,
    *parents: str,
    message: str | bytes,
    author: Author,
    at: int | None = None,
    old: CommitFacts | None = None,
) -> str:
    """Store a commit of a tree and return the commit's name. Raises GitFailed.

    Author and committer are the same, but where `old` is made anew: that commit's author and
    encoding stay. `at`: the time in seconds; None: now, in the zone of this machine.
    """
    when = f"{int(time.time())} {time.strftime('%z')}" if at is None else f"{at} +0000"
    who = f"{author.name} <{author.email}> {when}".encode(errors="replace")
    text = message.encode(errors="replace") if isinstance(message, str) else message
    lines = [b"tree " + tree.encode(), *(b"parent " + each.encode() for each in parents)]
    lines += [b"author " + (old.author if old is not None else who), b"committer " + who]
    lines += [b"encoding " + old.encoding] if old is not None and old.encoding else []
    data = b"\n".join(lines) + b"\n\n" + text.replace(b"\0", b"").rstrip(b"\n") + b"\n"
    return git.ask("hash-object", "-t", "commit", "-w", "--stdin", feed=data).decode().strip()
