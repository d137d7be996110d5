"""The command line of a box: from what is opened and hidden to bubblewrap's arguments. Pure.

A box begins with nothing. Mounts follow from the top of the tree downwards, so that a deeper path
always counts more than the directory that it lies in: a task's artifacts are open inside of a home
that is hidden, and a key is hidden inside of a directory that is open.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec import Struct

#: Bytes that a box may put into each of its private directories, which are memory.
ROOM = 2 << 30
#: What a box has for itself alone, empty at first, whatever these are outside.
PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - places in the box

_BINDS = ("--bind", "--ro-bind")
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
)  # fmt: skip


class Mount(Struct, frozen=True, kw_only=True):
    """A file or directory that a box has at another path than outside. No path has a link in it."""

    source: str
    target: str
    write: bool = False


class Box(Struct, frozen=True, kw_only=True):
    """What a process in a box can reach. All paths are absolute, and exist outside of the box."""

    #: The user's home: in the box an empty directory of its own.
    home: str
    #: Where the program begins.
    cwd: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    #: What the box has in the place of what lies there outside.
    mounts: tuple[Mount, ...] = ()
    #: What is not to be seen although it lies in an opened directory.
    hidden_files: tuple[str, ...] = ()
    hidden_directories: tuple[str, ...] = ()
    #: Links, like `/bin`, with what they lead to.
    links: tuple[tuple[str, str], ...] = ()
    #: Parts of /proc with which root could change the machine.
    kernel: tuple[str, ...] = ()
    #: The network of the machine; False: none, not even the loopback of the machine.
    network: bool = True


def bwrap_argv(box: Box, argv: Sequence[str]) -> tuple[str, ...]:
    """The arguments with which bubblewrap runs `argv` in the box."""
    # A session of its own: `kill 0` inside would otherwise end the process that holds the box.
    words = ["--die-with-parent", "--new-session", *_NAMESPACES]
    words += [] if box.network else ["--unshare-net"]
    words += ["--cap-drop", "ALL", "--hostname", "box", "--proc", "/proc"]
    # As root, bubblewrap leaves these open: a process without any right can set the program that
    # the kernel starts for a crash, since the kernel asks there for the user and for nothing else.
    for path in box.kernel:
        words += ["--ro-bind", path, path]
    words += ["--dev", "/dev", "--remount-ro", "/dev"]
    for mount in _mounts(box):
        words += mount
    words += ["--remount-ro", "/", "--chdir", box.cwd, "--"]
    return (*words, *argv)


def written_by(argv: Sequence[str]) -> tuple[str, ...]:
    """What a box writes outside, by the command line that `bwrap_argv` made."""
    return tuple(path for word, path in pairwise(argv) if word == "--bind")


def _mounts(box: Box) -> list[list[str]]:
    """Every mount and link, from the top downwards; of two at one path the wider one counts."""
    by_path: dict[str, list[str]] = {}
    for path in (*PRIVATE, box.home):
        by_path[path] = ["--size", str(ROOM), "--tmpfs", path]
    for path, target in box.links:
        by_path[path] = ["--symlink", target, path]
    for path in box.hidden_directories:
        by_path[path] = ["--size", "65536", "--tmpfs", path]
    for path in box.hidden_files:
        by_path[path] = ["--ro-bind", "/dev/null", path]
    for path in box.read:
        by_path[path] = ["--ro-bind", path, path]
    for path in box.write:
        by_path[path] = ["--bind", path, path]
    for mount in box.mounts:
        kind = "--bind" if mount.write else "--ro-bind"
        by_path[mount.target] = [kind, mount.source, mount.target]
    return [
        by_path[path] for path in sorted(by_path, key=_depth) if not _follows(path, by_path)
    ]  # fmt: skip


def _follows(path: str, by_path: dict[str, list[str]]) -> bool:
    """The directory above is opened in the same way already, and both at their own paths."""
    kind, source = by_path[path][:2]
    above = next((str(each) for each in PurePosixPath(path).parents if str(each) in by_path), None)
    if kind not in _BINDS or source != path or above is None:
        return False
    return by_path[above][:2] == [kind, above]


def _depth(path: str) -> tuple[int, str]:
    return len(PurePosixPath(path).parts), path
