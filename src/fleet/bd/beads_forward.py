"""`fleet bd …` on beads: the user's command line goes to the real `bd`, in the fleet home."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from fleet.bd.callers_files import located
from fleet.bd.command_line import split_command
from fleet.bd.terminal_filter import filtered
from fleet.errors import QueueBusy
from fleet.processes.bounded_call import Stream
from fleet.queue import doorbell
from fleet.queue.beads.bd_cli.bd_client import TIMEOUT, users_environment
from fleet.queue.beads.bd_cli.bd_process import attach
from fleet.queue.beads.beads_identity import refuse_wrong
from fleet.queue.beads.write_lock import WriteLock

#: Commands after which nothing can have changed; after any other the supervisor is woken.
_READS = frozenset(
    (
        "blocked", "children", "completion", "context", "count", "export", "help", "history",
        "info", "list", "memories", "ping", "prime", "query", "quickstart", "ready", "recall",
        "search", "show", "stale", "stats", "status", "version", "view", "where",
    )
)  # fmt: skip
#: Short writes that agents call in crowds: they queue up behind fleet's own.
_SHORT_WRITES = frozenset(
    (
        "assign", "close", "comment", "comments", "defer", "delete", "dep", "done", "heartbeat",
        "label", "link", "note", "priority", "remember", "reopen", "set-state", "tag", "unclaim",
        "undefer", "update",
    )
)  # fmt: skip
#: Commands that ask a person, or start an editor: they have the terminal itself, and no limit.
_INTERACTIVE = frozenset(("edit", "init", "onboard", "setup", "shell", "sql"))
#: How many times longer than a short command one may take that moves all tasks, or goes elsewhere.
_LONG = 20


def forward(
    home: Path,
    args: Sequence[str],
    *,
    bd: str = "bd",
    environ: Mapping[str, str] | None = None,
    invoked_in: Path | None = None,
    patience: timedelta = TIMEOUT,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    before_output: Callable[[], None] | None = None,
) -> int:
    """Run bd with exactly these arguments and answer with bd's exit code.

    Files are named relative to `invoked_in`; `patience` is how long a short command may take. On a
    terminal `before_output` is called once bd says something.
    """
    if invoked_in is not None:
        args = located(args, invoked_in)
    refuse_wrong(home)
    verb = split_command(args)[0].partition(" ")[0]
    env = users_environment(home, os.environ if environ is None else environ)
    try:
        with ExitStack() as locks:
            if verb in _SHORT_WRITES and not _reads_stdin(args):
                _wait_politely(locks, WriteLock(home, patience=patience))
            if verb not in _INTERACTIVE:
                stdout = locks.enter_context(filtered(stdout, sys.stdout, before_output))
                stderr = locks.enter_context(filtered(stderr, sys.stderr, before_output))
            limit = _limit(verb, args, patience)
            return attach(
                [bd, *args],
                cwd=home, env=env, stdin=stdin, stdout=stdout, stderr=stderr, timeout=limit,
            )  # fmt: skip
    finally:
        if verb not in _READS:
            doorbell.ring(home)


def _limit(verb: str, args: Sequence[str], patience: timedelta) -> float | None:
    """Seconds that bd may take; None: a person may be typing."""
    if not is_silent(args):
        return None
    short = verb in _READS or verb in _SHORT_WRITES
    return patience.total_seconds() * (1 if short else _LONG)


def _wait_politely(locks: ExitStack, lock: WriteLock) -> None:
    """Take the write lock, or go on without it in the end: bd has locks too, only slower ones."""
    try:
        locks.enter_context(lock.held())
    except QueueBusy:
        return


def is_silent(args: Sequence[str]) -> bool:
    """Whether bd alone decides how long the line takes: no person types, and none looks on."""
    return split_command(args)[0].partition(" ")[0] not in _INTERACTIVE and not _reads_stdin(args)


def _reads_stdin(args: Sequence[str]) -> bool:
    """Whether the line reads stdin: a person may be typing, and the write lock must not be held."""
    return any(arg in ("-", "--stdin") or arg.endswith("=-") for arg in args)
