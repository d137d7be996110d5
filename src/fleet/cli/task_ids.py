"""The arguments that name a task or give a text, and what a shell offers when Tab is pressed: ids
of tasks, coders, accounts, settings, and the words of `fleet bd`.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from msgspec import structs

from fleet import control
from fleet.cli.terminal_text import print_line
from fleet.config import KEYS, projects
from fleet.control import Control
from fleet.errors import FleetError
from fleet.schemas import Status, Task
from fleet.schemas.shown_text import harmless, one_line

T = TypeVar("T")

_MOST = 200
#: Seconds that a shell's completion or a help page may wait for the queue.
PATIENCE = 1.5
#: What click asks when Tab is pressed.
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def task_id(*statuses: Status) -> Callable[[Any], Any]:
    """`ID`, completed with tasks of these statuses; with all open tasks if none is named."""
    return click.argument("task_id", metavar="ID", shell_complete=completer(*statuses))


def task_ids(*statuses: Status) -> Callable[[Any], Any]:
    """`ID...`, completed in the same way."""
    return click.argument(
        "task_ids", metavar="ID...", nargs=-1, required=True, shell_complete=completer(*statuses)
    )


def given_text(text: str) -> str:
    """The text of an argument; `-` stands for what comes on stdin."""
    return sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text


def for_each(tasks: Sequence[Task], act: Callable[[Task], None]) -> int:
    """Act on each task; one that is refused does not keep the others. Returns the exit code."""
    code = 0
    for task in tasks:
        try:
            act(task)
        except FleetError as error:
            if len(tasks) == 1:
                raise
            code = code or error.exit_code
            print_line(harmless(f"Error: {error.message}. {error.hint}".strip()), err=True)
    return code


def completer(*statuses: Status) -> Completer:
    """Ids that begin as typed, with or without the prefix; titles where the shell shows them."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        return [
            CompletionItem(task.id, help=one_line(task.title)[:60])
            for task in best_effort(lambda fleet: fleet.beginning(incomplete, statuses, _MOST))
        ]

    return complete


def best_effort(look: Callable[[Control], Sequence[T]]) -> Sequence[T]:
    """What `look` returns, for convenience only: nothing without a home, with a broken file, or
    from a slow queue.
    """
    answers: list[Sequence[T]] = []

    def work() -> None:
        try:
            fleet = control.opened(os.environ)
            fleet.config = structs.replace(fleet.config, busy_timeout_s=1, bd_timeout_s=1)
            answers.append(look(fleet))
        except Exception:  # noqa: BLE001, S110 - a traceback has no place in a shell's prompt
            pass

    # The thread is left behind: not every queue has a time limit.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return answers[0] if answers else ()


def coder_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> Sequence[str]:
    """Every coder that there is."""
    del ctx, param
    return _begin(best_effort(Control.coder_names), incomplete)


def account_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> Sequence[str]:
    """Every account that is declared."""
    del ctx, param
    return _begin(best_effort(lambda fleet: tuple(fleet.config.accounts)), incomplete)


def assignments(ctx: click.Context, param: click.Parameter, incomplete: str) -> Sequence[str]:
    """`KEY=`, and after the sign the words that a key knows; bash has the sign as a word."""
    before = [str(word) for word in ctx.params.get(param.name or "") or ()]
    key, sign, begun = incomplete.partition("=")
    if sign and key:
        return [f"{key}={word}" for word in _begin(_values(key), begun)]
    if sign and before:
        return _values(before[-1])
    if before[-1:] == ["="] and len(before) > 1:
        return _begin(_values(before[-2]), incomplete)
    keys = filter(projects.has, (*projects.LISTS, *KEYS)) if ctx.params.get("project") else KEYS
    return [f"{name}=" for name in _begin(keys, incomplete)]


def bd_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What may come next on a line of `fleet bd`."""
    from fleet.bd.offered_words import flag_before, offered, offered_flags, takes_ids

    words = [str(word) for word in ctx.params.get("args") or ()]
    if flag := flag_before(words):
        return [CompletionItem(word) for word in _begin(_values(flag), incomplete)]
    found = list(offered_flags(words) if incomplete.startswith("-") else offered(words))
    if not found and takes_ids(words):
        return completer()(ctx, param, incomplete)
    return [CompletionItem(word, help=text) for word, text in found if word.startswith(incomplete)]


def _values(name: str) -> Sequence[str]:
    """What a setting, or a flag of fleet's own, may be."""
    if name == "coder":
        return best_effort(Control.coder_names)
    if name == "account":
        return best_effort(lambda fleet: tuple(fleet.config.accounts))
    key = KEYS.get("context" if name == "load" else name)
    return key.choices if key else ()


def _begin(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
