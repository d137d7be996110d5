"""Git directories that fleet writes: for a moment to read a clone with, or for a new clone.

The configuration in them is fleet's, so git finds no hook, filter, driver or template in them.
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from fleet.git.git_command import Git
from fleet.git.repository import Repository

_CONFIG = "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n"
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"
#: HEAD of a git directory that stands on no branch of a project.
HEAD = "ref: refs/heads/none\n"


def git_in(git_dir: Path, root: Path, until: float, index: str = "", *, ignore: str = "") -> Git:
    """Git in a directory that fleet wrote, over the working tree `root`."""
    place = str(git_dir)
    repo = Repository(root=str(root), git_dir=place, common_dir=place)
    return Git(repo, until, index, ignore=ignore)


def write_git_dir(place: Path, *, sha256: bool, config: str = "") -> None:
    """Make an empty git directory, without templates or hooks."""
    make_folders(place)
    (place / "config").write_text(f"{configuration(sha256=sha256)}{config}", encoding="utf-8")
    (place / "HEAD").write_text(HEAD, encoding="ascii")


def make_folders(place: Path) -> None:
    """Make the directories without which git takes a place for no git directory."""
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (place / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def configuration(*, sha256: bool) -> str:
    """Fleet's configuration of a git directory; a project has only the naming of objects in it."""
    return _CONFIG.format(version=int(sha256)) + (_SHA256 if sha256 else "")


def write_alternates(git_dir: Path, objects: Iterable[str]) -> None:
    """Have a git directory find objects in these directories, too."""
    lines = "".join(f"{_quoted(each)}\n" for each in objects)
    (git_dir / "objects/info/alternates").write_bytes(os.fsencode(lines))


def _quoted(path: str) -> str:
    """A path as a line of `alternates`."""
    if not path.startswith(('"', "#")) and "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@contextmanager
def scratch_git_dir(folder: Path, *, sha256: bool) -> Generator[Path]:
    """A git directory in `folder` that is removed at the end of the block."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="reading-", dir=folder))
    try:
        write_git_dir(place / "git", sha256=sha256)
        yield place / "git"
    finally:
        shutil.rmtree(place, ignore_errors=True)
