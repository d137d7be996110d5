"""A git repository read from files, without starting git: the place, and guarded files.

Guarded files decide what git or an agent runs, and which files git sees.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError
from fleet.files import lenient_read
from fleet.files.safe_read import walk

#: Larger files are compared by size and time, not by content.
_LARGEST = 1 << 20
#: How many files of a guarded directory are compared.
_MOST = 500

#: Below the common git directory: what git runs, and what decides which files git sees.
_GIT_FILES = (
    *("config", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"),
)
_GIT_FOLDERS = ("hooks",)
_HEADS = "refs/heads/"
#: The name of a commit, in both of git's notations.
COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
#: In the working tree: what an agent or git runs or allows.
SETTINGS = (
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
)
SETTINGS_FOLDERS = (".claude/hooks", ".codex/hooks", ".codex/rules", ".husky", ".githooks")

#: Sections of git's configuration that run nothing and that everyday commands write.
_HARMLESS = rb'\[(?:branch "[^"\\\[\]]*"|user)\]'
_PLAIN = rb"(?:[A-Za-z][A-Za-z0-9-]*[ \t]*=[^\[\]\\]*|[#;].*)?"


class Repository(Struct, frozen=True, kw_only=True):
    """Where a working tree and the repository are."""

    #: The top directory of the working tree.
    root: str
    #: The git directory of this working tree, and the common one; they differ in a worktree.
    git_dir: str
    common_dir: str


class GitFailed(FleetError):
    """git failed, or took too long, or a repository cannot be used."""

    def __init__(self, message: str, *, hint: str = "", errno: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno = errno


def find(cwd: str) -> Repository | None:
    """The repository that a directory is in, or None.

    A repository at the top of the user's home directory counts only for that directory itself:
    else everything below would be one project. A path that is not valid text does not count.
    """
    place = os.path.realpath(cwd)
    root = place
    while True:
        found = _at(root)
        if found is not None:
            unfit = (root != place and root == _user_home()) or root != shown(root)
            return None if unfit else found
        above = os.path.dirname(root)  # noqa: PTH120
        if above == root:
            return None
        root = above


def _user_home() -> str:
    return os.path.realpath(os.environ.get("HOME") or "/")


def _at(root: str) -> Repository | None:
    dot = f"{root}/.git"
    try:
        about = os.stat(dot)  # noqa: PTH116 - on the way to every run
    except OSError:
        return None
    if stat.S_ISDIR(about.st_mode):
        git_dir = dot
    else:
        text = (read_bounded(dot) or b"").decode(errors="surrogateescape")
        if not text.startswith("gitdir:"):
            return None
        git_dir = os.path.join(root, text.removeprefix("gitdir:").strip())  # noqa: PTH118
    if not os.path.exists(f"{git_dir}/HEAD"):  # noqa: PTH110
        return None
    common = (read_bounded(f"{git_dir}/commondir") or b"").decode(errors="surrogateescape").strip()
    common_dir = os.path.normpath(os.path.join(git_dir, common)) if common else git_dir  # noqa: PTH118
    return Repository(root=root, git_dir=git_dir, common_dir=common_dir)


def is_bare(path: str) -> bool:
    """The directory is a bare repository, which others clone from."""
    return all(os.path.exists(f"{path}/{name}") for name in ("HEAD", "objects", "refs"))  # noqa: PTH110


def checked_out(git_dir: str) -> str:
    """The branch that HEAD of a git directory names, or the commit; empty if HEAD
    cannot be read.
    """
    text = (read_bounded(f"{git_dir}/HEAD") or b"").decode(errors="backslashreplace")
    return text.removeprefix("ref:").strip()


def checked_out_branch(repo: Repository) -> str:
    """The branch that a working tree has checked out, without `refs/heads/`; empty: none."""
    head = checked_out(repo.git_dir)
    return head.removeprefix(_HEADS) if head.startswith(_HEADS) else ""


def commit_in_files(repo: Repository, ref: str) -> str | None:
    """The commit of a ref, read without git; empty: there is no such ref; None: the files do not
    tell.
    """
    loose, packed = f"{repo.common_dir}/{ref}", f"{repo.common_dir}/packed-refs"
    if os.path.lexists(loose):
        found = read_bounded(loose) or b""
    else:
        data = read_bounded(packed) if os.path.lexists(packed) else b""
        if data is None:
            return None
        end = os.fsencode(f" {ref}")
        lines = (line for line in data.splitlines() if line.endswith(end))
        found = next((line.removesuffix(end) for line in lines), None)
        if found is None:
            return ""
    text = found.decode(errors="replace").strip()
    # An agent without a box may have written anything there, an option of git's for one.
    return text if re.fullmatch(COMMIT, text) else None


def is_unborn(repo: Repository, branch: str) -> bool:
    """A branch has no commit yet, as in a repository that was just made; read without git."""
    if b"reftable" in configuration(repo).lower():
        return False  # the refs of a table are in no files
    return commit_in_files(repo, f"{_HEADS}{branch}") == ""


def read_bounded(path: str) -> bytes | None:
    """The content of a regular file of at most _LARGEST bytes, else None."""
    content = lenient_read.read(path, _LARGEST)
    return content.data if content and content.whole else None


def read_whole(path: str) -> bytes:
    """A file of git's with all that it holds; empty if there is none. Raises GitFailed."""
    content = lenient_read.read(path, _LARGEST)
    if content is not None and not content.whole:
        why = content.problem or f"it is larger than {_LARGEST >> 20} MiB"
        raise GitFailed(f"{path} cannot be read: {why}")
    return content.data if content is not None else b""


def configuration(repo: Repository) -> bytes:
    """The text of a repository's own configuration. Raises GitFailed if it cannot be read whole."""
    paths = (f"{repo.common_dir}/config", f"{repo.git_dir}/config.worktree")
    return b"\n".join(map(read_whole, paths))


def shown(name: str | bytes) -> str:
    """A file name as text; bytes that are not UTF-8 become escapes."""
    return os.fsencode(name).decode(errors="backslashreplace")


def guarded(repo: Repository) -> dict[str, str]:
    """The guarded files, as a digest by path."""
    found: dict[str, str] = {}
    for name in _GIT_FILES:
        _note(found, f".git/{name}", f"{repo.common_dir}/{name}")
    for name in ("commondir", "gitdir"):
        _note(found, f".git/{name}", f"{repo.git_dir}/{name}")
    found[".git"] = _kind(f"{repo.root}/.git")
    _note(found, ".git/config.worktree", f"{repo.git_dir}/config.worktree")
    for folder in _GIT_FOLDERS:
        for path in _files(f"{repo.common_dir}/{folder}"):
            if not path.endswith(".sample"):
                _note(found, f".git/{os.path.relpath(path, repo.common_dir)}", path)
    for name in SETTINGS:
        _note(found, name, f"{repo.root}/{name}")
    for folder in SETTINGS_FOLDERS:
        for path in _files(f"{repo.root}/{folder}"):
            _note(found, os.path.relpath(path, repo.root), path)
    return found


def _files(folder: str) -> Iterator[str]:
    if os.path.islink(folder):  # noqa: PTH114
        yield folder
        return
    left = _MOST
    for place, folders, names in walk(folder):
        folders.sort()
        for name in sorted(names):
            yield f"{place}/{name}"
            left -= 1
            if left <= 0:
                return


def _note(found: dict[str, str], name: str, path: str) -> None:
    name = shown(name)
    try:
        about = os.lstat(path)
    except OSError:
        return
    if stat.S_ISLNK(about.st_mode):
        found[name] = f"link:{shown(os.readlink(path))}"  # noqa: PTH115
        return
    data = read_bounded(path)
    if data is None:
        # The time of the last change of the entry cannot be set back.
        found[name] = f"size:{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"
        return
    import hashlib  # loads OpenSSL, which most commands do without

    if Path(name).name.startswith("config") and name.startswith(".git/"):
        data = guarded_config(data)
    executable = "x" if about.st_mode & 0o111 and "hooks" in name else ""
    found[name] = f"{executable}{hashlib.sha256(data).hexdigest()[:32]}"


def _kind(path: str) -> str:
    """What a `.git` is: a directory, or the place that a file leads to."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            return "directory"
    except OSError:
        return "missing"
    found: dict[str, str] = {}
    _note(found, path, path)
    return found.get(shown(path), "")


def guarded_config(config: bytes) -> bytes:
    """Git's configuration without the `branch` and `user` sections, which everyday commands write
    and which run nothing. Pure; a line that is not plainly of that kind is kept.
    """
    kept: list[bytes] = []
    harmless = False
    for line in config.splitlines():
        text = line.strip()
        if text.startswith(b"["):
            harmless = re.fullmatch(_HARMLESS, text) is not None
            if harmless:
                continue
        if not (harmless and re.fullmatch(_PLAIN, text)):
            kept.append(text)
    return b"\n".join(kept)
