"""How much of a tree is lost in another: files that are gone, and neither moved nor renamed."""

from msgspec import Struct

from fleet.git.git_command import Git

#: A file of no bytes, in both of git's notations.
_EMPTY = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class Losses(Struct, frozen=True, kw_only=True):
    """What of a tree is nowhere any more."""

    #: How many files there were.
    tracked: int
    files: int
    size: int


def losses(git: Git, before: str, after: str) -> Losses:
    """Compare two trees. A file that was emptied is lost as well; a renamed one is not, also if
    it was changed with it.
    """
    tracked = git.ask("ls-tree", "-r", "-z", "--name-only", before).count(b"\0")
    ask = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--find-renames=40%", "-l2000")
    parts = git.ask(*ask, "--no-ext-diff", before, after).split(b"\0")
    gone: list[bytes] = []
    at = 0
    while at < len(parts) and parts[at].startswith(b":"):
        _, _, old, new, kind = parts[at].split(b" ")
        if kind == b"D" or (kind == b"M" and new in _EMPTY and old not in _EMPTY):
            gone.append(old)
        at += 3 if kind[:1] in b"RC" else 2
    sizes = git.ask(
        "cat-file", "--batch-check=%(objectsize)", feed=b"".join(blob + b"\n" for blob in gone)
    )
    size = sum(int(line) for line in sizes.split() if line.isdigit())
    return Losses(tracked=tracked, files=len(gone), size=size)
