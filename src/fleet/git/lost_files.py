"""How many files of one tree are missing in another, moved and renamed files aside."""

from msgspec import Struct

from fleet.git.git_command import Git

#: A file of no bytes, in both of git's notations.
_EMPTY = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class LostFiles(Struct, frozen=True, kw_only=True):
    """Files that are gone or were emptied."""

    #: How many files there were before.
    tracked: int
    files: int
    size: int


def count_lost_files(git: Git, before: str, after: str) -> LostFiles:
    """Compare two trees. A file that was emptied is lost; one that was renamed, even with changes,
    is not.
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
    return LostFiles(tracked=tracked, files=len(gone), size=size)
