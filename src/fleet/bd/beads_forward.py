"""`fleet bd …` on beads: the user's command line goes to the real `bd`, in the fleet home.

A task's text may hold control characters, and bd prints it as it is. On a terminal it is shown and
not obeyed; in a pipe or a file nothing is changed, since a program may read it.
"""

import codecs
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TextIO

from fleet.bd.callers_files import located
from fleet.bd.command_line import split_command
from fleet.processes.bounded_call import Stream
from fleet.queue import doorbell
from fleet.queue.beads.bd_cli.bd_client import TIMEOUT, users_environment
from fleet.queue.beads.bd_cli.bd_database import refuse_wrong
from fleet.queue.beads.bd_cli.bd_process import attach
from fleet.queue.beads.write_lock import write_lock
from fleet.schemas.shown_text import harmless

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
#: Seconds that are waited for the last words after the program has ended: a server that bd
#: started may hold the stream open for ever.
_LAST_WORDS = 1.0
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
                locks.enter_context(write_lock(home, patience, politely=True))
            if verb not in _INTERACTIVE:
                stdout = locks.enter_context(_filtered(stdout, sys.stdout, before_output))
                stderr = locks.enter_context(_filtered(stderr, sys.stderr, before_output))
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


def is_silent(args: Sequence[str]) -> bool:
    """Whether bd alone decides how long the line takes: no person types, and none looks on."""
    return split_command(args)[0].partition(" ")[0] not in _INTERACTIVE and not _reads_stdin(args)


def _reads_stdin(args: Sequence[str]) -> bool:
    """Whether the line reads stdin: a person may be typing, and the write lock must not be held."""
    return any(arg in ("-", "--stdin") or arg.endswith("=-") for arg in args)


@contextmanager
def _filtered(
    given: Stream, own: TextIO, before_output: Callable[[], None] | None = None
) -> Generator[Stream]:
    """The stream to start a program with, in the place of `given`; None stands for `own`.

    `before_output` is called before something is written to a terminal.
    """
    if given is not None or not own.isatty():
        yield given
        return
    read, write = os.pipe2(os.O_CLOEXEC)
    copying = threading.Thread(target=_copy, args=(read, own, before_output), daemon=True)
    copying.start()
    try:
        yield write
    finally:
        os.close(write)
        copying.join(_LAST_WORDS)


def _copy(read: int, out: TextIO, before_output: Callable[[], None] | None) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with os.fdopen(read, "rb", buffering=0) as source:
        while data := source.read(1 << 16):
            if before_output is not None:
                before_output()
            out.write(harmless(decoder.decode(data)))
            out.flush()
    out.write(harmless(decoder.decode(b"", final=True)))
    out.flush()
