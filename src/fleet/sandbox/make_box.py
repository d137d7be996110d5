"""Makes the box of one process: looks at the disk for what is to be opened and hidden."""

# ruff: noqa: PTH110, PTH111, PTH112, PTH114, PTH120 - a hundred short questions a run
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.sandbox import toolchains
from fleet.sandbox.bwrap_argv import PRIVATE, Box, Mount

#: Name servers; on many systems a link into /run, which a box does not have.
_RESOLVER = "/etc/resolv.conf"


def make_box(
    env: Mapping[str, str],
    *,
    cwd: str,
    write: Iterable[str],
    read: Iterable[str] = (),
    hidden: Iterable[str] = (),
    mounts: Sequence[Mount] = (),
    reached: Iterable[str] = (),
    program: str = "",
    network: bool = True,
) -> Box:
    """The box for a program that begins in `cwd` with this environment.

    `write` and `read` are opened beside the system, toolchains, the program and this Python; what
    does not exist is left out. `hidden` stays hidden wherever it lies, and so do keys, unless
    `write` or `read` names that very path. A writable mount takes the place of a directory that the
    box must not write; `reached` are paths by which programs look for mounts, maybe through links.
    Raises InvalidTask where `write` opens too much for a box.
    """
    home = env.get("HOME") or "/"
    user = os.path.realpath(home)
    if _holds(os.path.realpath(cwd), user):
        raise InvalidTask(
            f"a box cannot have {cwd} as its workspace: your home with its settings lies in there",
            hint="Give the task a directory of its own, or set sandbox=off for this one.",
        )
    named = [os.path.expanduser(path) for path in (*write, *read)]
    never = set(_real(hidden))
    writes = _real(os.path.expanduser(path) for path in write)
    replaced = [mount.target for mount in mounts if mount.write]
    _check_writes(writes, replaced)
    reads = _real(os.path.expanduser(path) for path in read)
    tools = [
        path
        for path in _real((*_programs(env, program), *toolchains.toolchains(env, home)))
        if not any(_holds(path, each) or _holds(each, path) for each in never)
        and not _holds(path, user)
        and path not in PRIVATE
    ]
    system = _real((*toolchains.SYSTEM, *toolchains.ROOT_LINKS, _RESOLVER))
    opened = dict.fromkeys((*system, *tools, *reads, *writes))
    for path in replaced:
        if any(_holds(each, path) for each in opened):  # a read-only tree gets no new directory
            os.makedirs(path, 0o700, exist_ok=True)  # noqa: PTH103
    keys = _real((*(f"{home}/{key}" for key in toolchains.KEYS), *toolchains.KEYS_OF_ROOT))
    closed = (*keys, *never)
    secret = [
        path
        for path in closed
        if any(_holds(each, path) for each in opened)
        and not any(_holds(each, path) for each in replaced)
    ]
    wanted = (home, cwd, *named, *reached, *toolchains.ROOT_LINKS, *env.get("PATH", "").split(":"))
    return Box(
        home=user,
        cwd=os.path.realpath(cwd),
        read=tuple(path for path in opened if path not in writes),
        write=tuple(writes),
        mounts=tuple(each for each in mounts if each.write or _is_open(each, closed, user)),
        hidden_files=tuple(path for path in secret if not os.path.isdir(path)),
        hidden_directories=tuple(path for path in secret if os.path.isdir(path)),
        links=tuple(dict(_links(wanted, opened)).items()),
        kernel=tuple(
            f"/proc/{name}" for name in toolchains.KERNEL if os.path.exists(f"/proc/{name}")
        ),
        network=network,
    )


def _check_writes(writes: Iterable[str], replaced: Iterable[str]) -> None:
    """Refuse to open for writing what a mount replaces: an agent could move the directory around
    it, and the user's own CLI would obey what it left there.
    """
    for place in replaced:
        for path in writes:
            if _holds(path, place) or _holds(place, path):
                raise InvalidTask(
                    f"a box cannot have {path} writable: the state of your own CLI is at {place}",
                    hint="Give the task a directory of its own, take the path out of sandbox_write,"
                    " or set sandbox=off for this one.",
                )


def _is_open(mount: Mount, closed: Iterable[str], user: str) -> bool:
    """Whether a read-only mount shows nothing that has to stay hidden: links that the user, or an
    agent without a box, made in the user's directory may lead anywhere.
    """
    source = mount.source
    if source == mount.target:
        return True
    return not _holds(source, user) and not any(
        _holds(source, path) or _holds(path, source) for path in closed
    )


def _real(paths: Iterable[str]) -> list[str]:
    """The paths that exist, without links, each once."""
    found = (os.path.realpath(path) for path in paths)
    return list(dict.fromkeys(path for path in found if path != "/" and os.path.exists(path)))


def _programs(env: Mapping[str, str], program: str) -> Iterator[str]:
    """The Python that runs fleet, fleet's package, and the package of the program."""
    yield from (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))
    found = shutil.which(program, path=env.get("PATH")) if program else None
    if found is not None:
        package = toolchains.package_of(os.path.realpath(found))
        yield package
        # A program that lies in the home itself is opened alone.
        yield os.path.realpath(found)


def _holds(path: str, other: str) -> bool:
    """`other` is the path, or lies below the path."""
    return other == path or other.startswith(path.rstrip("/") + "/")


def _links(paths: Iterable[str], opened: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The links on the way to these paths that no opened directory brings along."""
    for path in paths:
        at = path
        for _ in range(8):  # links behind links
            link = next((part for part in _ways(at) if os.path.islink(part)), None)
            if link is None:
                break
            target = os.path.realpath(link)
            if not any(_holds(each, os.path.dirname(link)) for each in opened):
                yield link, target
            at = target + at[len(link) :]


def _ways(path: str) -> Iterator[str]:
    """Each directory on the way to a path, from the root on, and the path."""
    for number, letter in enumerate(path):
        if letter == "/" and number > 0:
            yield path[:number]
    if path:
        yield path
