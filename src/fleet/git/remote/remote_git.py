"""Git that reaches another repository with the operator's own configuration and logins.

Nowhere else does fleet's git read the user's configuration: here git needs the user's credential
helpers and ssh. So git runs in fleet's own repository, whose configuration no agent writes, and is
given the address itself, not the name of a remote. No hook runs, nothing may ask on a terminal, and
a remote that does not answer is given up after a while.
"""

import os
import shutil
from collections.abc import Mapping

from msgspec import Struct

from fleet.git.git_command import SETTINGS, as_variables
from fleet.git.remote.upstream import without_password
from fleet.git.repository import Repository
from fleet.processes.bounded_call import DEVNULL, CallFailed, Exited, call

#: Seconds that a transfer may take, of some size over a slow line; and a question without one.
PATIENCE = 300.0
QUESTION = 60.0
_LIMIT = 16 << 20
#: What has git bring commits and nothing else; an address and refs come after it.
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--force")

_OWN_SETTINGS = (
    *SETTINGS,
    *((f"protocol.{name}.allow", "always") for name in ("file", "git", "ssh", "http", "https")),
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.autoSetupRemote", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.prune", "false"),
    # A transfer that stands still is given up by git itself, with words of its own.
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
)
#: What would lead git to another repository or another program of git's own.
_DROPPED = (
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG"),
    *("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE"),
    *("GIT_REPLACE_REF_BASE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_EXEC_PATH", "GIT_TRACE"),
    *("GIT_ALLOW_PROTOCOL", "GIT_CEILING_DIRECTORIES"),
)
_SET: Mapping[str, str] = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}


class RemoteSilent(Struct, frozen=True, kw_only=True):
    """The remote gave no answer that fleet could use; the same may go well later."""

    why: str


class RemoteGit:
    """Git for one address, with the operator's environment."""

    def __init__(
        self,
        own: Repository,
        url: str,
        *,
        env: Mapping[str, str] = os.environ,
        patience: float = PATIENCE,
    ) -> None:
        #: Fleet's own repository, which the objects come to and go from.
        self.own = own
        self.url = url
        self._patience = patience
        self._env = operator_env(env, own)

    def ask(self, *args: str, at_most: float = PATIENCE) -> Exited | RemoteSilent:
        """Run git to a good end; an ending with an error is silence."""
        done = self.judge(*args, at_most=at_most)
        if isinstance(done, Exited) and done.code:
            return RemoteSilent(why=why_failed(done))
        return done

    def judge(
        self, *args: str, at_most: float = PATIENCE, stdin: int = DEVNULL
    ) -> Exited | RemoteSilent:
        """Run git to the end; an ending with an error is an answer too."""
        program = shutil.which("git")
        if program is None:
            return RemoteSilent(why="git is not installed")
        done = call(
            [program, "--no-pager", *args],
            cwd=self.own.git_dir,
            env=self._env,
            timeout=min(self._patience, at_most),
            limit=_LIMIT,
            stdin=stdin,
        )
        if isinstance(done, CallFailed):
            return RemoteSilent(why=f"git {args[0]} {done.problem}")
        return done


def operator_env(parent: Mapping[str, str], own: Repository) -> dict[str, str]:
    """The operator's environment, led to fleet's own repository. Pure."""
    env = {
        name: value
        for name, value in parent.items()
        if name not in _DROPPED and not name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    env |= _SET
    env["GIT_DIR"] = own.git_dir
    return env | as_variables(_OWN_SETTINGS)


def why_failed(done: Exited) -> str:
    """The line in which git or the remote says why a command failed. Pure."""
    lines = [line.strip() for line in done.err.strip().splitlines()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote: error"))]
    chosen = (told or [line for line in lines if line] or [f"git ended with {done.code}"])[0]
    return without_password(chosen.removeprefix("fatal: "))[:500]
