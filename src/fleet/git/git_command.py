"""Runs git for fleet's own questions: bounded in time and output, and without running commands that
a repository's configuration names.

An agent can write a repository's configuration, and git runs commands from it. So git is told which
git directory to use and looks for none; it reads neither the user's nor the system's configuration.
For all that reads or writes files of a working tree, git uses a directory of fleet's own
(`own/own_repository.py`), whose configuration names no program. A project's own git directory is
used for its refs. There hooks, the file system monitor, signing and every network protocol are
switched off, and so are the filters that its configuration defines. A configuration that cannot be
read, or is too large for one, is refused.
"""

import io
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import IO

from fleet.files.machine_short import named_in
from fleet.git import repository
from fleet.git.repository import GitFailed, Repository
from fleet.processes.bounded_call import DEVNULL, CallFailed, Exited, call

#: The largest output of git that is kept in memory, in bytes; more is a failure.
ANSWER = 64 << 20
#: The share of the machine's memory that one git may have. A tree of a kilobyte can name a billion
#: files, and git holds an index of them in memory.
_SHARE = 4
#: The exit codes of a command that was asked for something which is not there.
MISSING = (1, 128)
#: How git names another worktree that it cannot read, and the pauses between tries then.
_WORKTREES = "worktrees/"
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)

#: The variables that git needs.
_PASSES = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR")
_ENV: Mapping[str, str] = {
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_AUTHOR_NAME": "fleet",
    "GIT_AUTHOR_EMAIL": "fleet@localhost",
    "GIT_COMMITTER_NAME": "fleet",
    "GIT_COMMITTER_EMAIL": "fleet@localhost",
}
#: Events at which git runs a hook: of a file, or since 2.54 of the configuration.
_EVENTS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
    *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
    *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
SETTINGS: tuple[tuple[str, str], ...] = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    ("commit.gpgSign", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    # Milliseconds: fleet's processes move refs of one repository at once, on a busy machine.
    ("core.filesRefLockTimeout", "2000"),
    ("maintenance.auto", "false"),
    ("core.commitGraph", "false"),
    ("core.multiPackIndex", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("protocol.allow", "never"),
    *((f"hook.{event}.enabled", "false") for event in _EVENTS),
)


#: What git reads: bytes, or an open file.
Feed = bytes | IO[bytes]


class Git:
    """git in one repository, until a moment of the monotonic clock."""

    def __init__(
        self, repo: Repository, until: float, index: str = "", *, ignore: str = ""
    ) -> None:
        self.repo = repo
        self._own = (("core.excludesFile", ignore or os.devnull),)
        self.until = until
        self.program = shutil.which("git") or ""
        self._env = _environment(repo, index)
        self._settings: tuple[tuple[str, str], ...] | None = None

    def storing_in(self, objects: str) -> "Git":
        """Return a git whose new objects go to another directory."""
        other = Git(self.repo, self.until)
        other._env["GIT_OBJECT_DIRECTORY"] = objects
        return other

    def with_settings(self, more: Mapping[str, str]) -> "Git":
        """Return a git with more settings: such as say how files are written, and run nothing."""
        other = Git(self.repo, self.until)
        other._own, other._env = (*self._own, *more.items()), self._env
        return other

    def at(self, repo: Repository, index: str = "") -> "Git":
        """Return a git for another working tree, with the same end of its time."""
        return Git(repo, self.until, index)

    def ask(self, *args: str, feed: Feed = b"", cap: int = ANSWER) -> bytes:
        """The output of git. Raises GitFailed."""
        out = io.BytesIO()
        if self._run(args, feed, out, cap) is None:
            raise GitFailed(f"git {args[0]} printed more than {cap >> 20} MiB")
        return out.getvalue()

    def judge(self, *args: str, feed: Feed = b"", no: Sequence[int] = (1,)) -> tuple[bool, bytes]:
        """The answer of a command that says yes by exit code 0 and no by one of `no`, and the
        output.

        Raises GitFailed for any other code, and where git could not be started or finished: a
        machine that is short of something says neither yes nor no.
        """
        out = io.BytesIO()
        code = self._run(args, feed, out, ANSWER, (0, *no))
        if code is None:
            raise GitFailed(f"git {args[0]} printed more than {ANSWER >> 20} MiB")
        return code == 0, out.getvalue()

    def file(self, name: str, cap: int) -> bytes | None:
        """The content of a file that git stores; None if there is no such file, or it has more than
        `cap` bytes. Raises GitFailed as `judge` does.
        """
        out = io.BytesIO()
        code = self._run(("cat-file", "blob", name), b"", out, cap, (0, *MISSING))
        return out.getvalue() if code == 0 else None

    def ask_patiently(self, *args: str) -> bytes:
        """The output of a command that reads every worktree, tried again while one of them is just
        being made or removed.
        """
        for pause in _PAUSES:
            try:
                return self.ask(*args)
            except GitFailed as error:
                if _WORKTREES not in error.message or time.monotonic() + pause >= self.until:
                    raise
                time.sleep(pause)
        return self.ask(*args)

    def line(self, *args: str) -> str:
        """The output of git without the newline."""
        return self.ask(*args).decode(errors="surrogateescape").rstrip("\n")

    def write(self, out: IO[bytes], cap: int, *args: str, feed: Feed = b"") -> bool:
        """Write the output of git to a file. False: it was cut off after `cap` bytes."""
        return self._run(args, feed, out, cap) is not None

    def _run(
        self,
        args: Sequence[str],
        feed: Feed,
        out: IO[bytes],
        cap: int,
        codes: Sequence[int] = (0,),
    ) -> int | None:
        """The exit code, which is one of `codes`; None: the output was cut off."""
        if not self.program:
            raise GitFailed("git is not installed")
        if self._settings is None:
            self._settings = (*SETTINGS, *self._own, *self._filters())
        return self._call(args, feed, out, cap, self._settings, codes)

    def _call(
        self,
        args: Sequence[str],
        feed: Feed,
        out: IO[bytes],
        cap: int,
        settings: Sequence[tuple[str, str]],
        codes: Sequence[int] = (0,),
    ) -> int | None:
        result = call(
            [self.program, "--no-pager", *args],
            cwd=self.repo.root,
            env={**self._env, **as_variables(settings)},
            stdin=feed or DEVNULL,
            timeout=self.until - time.monotonic(),
            limit=cap,
            sink=out.write,
            memory=_memory(),
        )
        match result:
            case Exited(code=code) if code == 0:
                return code
            case Exited(code=code):
                short = named_in(result.err)
                if code in codes and short is None:
                    return code
                why = _reason(result.err) or f"ended with {code}"
                raise GitFailed(f"git {args[0]}: {why}", errno=short)
            case CallFailed(fault="flood"):
                return None
            case CallFailed(fault="timeout"):
                raise GitFailed(f"git {args[0]} took too long and was stopped")
            case CallFailed(error=error):
                errno = error.errno if isinstance(error, OSError) else None
                raise GitFailed(f"git {result.problem}", errno=errno)

    def _filters(self) -> list[tuple[str, str]]:
        """Settings that undo the filters of the repository's own configuration."""
        text = repository.configuration(self.repo).lower()
        if b"filter" not in text and b"include" not in text:
            return []
        out = io.BytesIO()
        ask = ("config", "--includes", "--show-scope", "--null", "--list")
        self._call(ask, b"", out, ANSWER, SETTINGS)
        return undone(out.getvalue().decode(errors="surrogateescape"))


def undone(listed: str) -> list[tuple[str, str]]:
    """What `git config --show-scope --null --list` says, turned into the settings that switch the
    repository's filters off. Pure.
    """
    parts = listed.split("\0")
    theirs: set[str] = set()
    for scope, entry in zip(parts[::2], parts[1::2], strict=False):
        name = entry.partition("\n")[0]
        if name.startswith("filter.") and scope != "command":
            theirs.add(name)
    wanted = {
        f"{name.rpartition('.')[0]}.{verb}" for name in theirs for verb in ("clean", "smudge")
    }
    # `process` only where the repository sets it: even an empty one keeps git from the other two.
    wanted |= {name for name in theirs if name.endswith((".process", ".required"))}
    return [(name, "false" if name.endswith(".required") else "") for name in sorted(wanted)]


@cache
def _memory() -> int:
    """Bytes of memory that one git may have."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _SHARE


def _environment(repo: Repository, index: str) -> dict[str, str]:
    env = {name: os.environ[name] for name in _PASSES if name in os.environ}
    env |= _ENV
    # The directories that fleet found, whatever `.git`, `commondir` and core.worktree say by now.
    env["GIT_DIR"] = repo.git_dir
    if repo.common_dir != repo.git_dir:
        env["GIT_COMMON_DIR"] = repo.common_dir
    env["GIT_WORK_TREE"] = repo.root
    if index:
        env["GIT_INDEX_FILE"] = index
    return env


def as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Variables for settings whose names may contain anything, unlike with `-c name=value`."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{number}"] = name
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def _reason(errors: str) -> str:
    """The line that says why git failed: the first fatal one, or the last of all."""
    lines = errors.strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or [""])[-1 if not fatal else 0][:500]
