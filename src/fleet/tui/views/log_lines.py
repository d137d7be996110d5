"""The supervisor's log, and what the person did here, as lines. Pure."""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from fleet.control.tasks.task_files import log_line
from fleet.schemas.shown_text import moment
from fleet.tui.spans import SpanLine, paragraph, said

_INDENT = 9
_BAD = ("fail", "refus", "lost", "cannot", "killed", "damage")


class DoneAct(Struct, frozen=True):
    """An act of the person's: moment, command line, and result."""

    at: datetime
    line: str
    words: str
    refused: bool = False


def log_page(data: bytes, acts: Sequence[DoneAct], width: int, now: datetime) -> list[SpanLine]:
    """The lines of a log as sentences, with what the person did among them, latest last."""
    mine = deque(acts)
    lines: list[SpanLine] = []
    for raw in data.splitlines():
        line = log_line(raw)
        if line is None:
            lines += paragraph(raw.decode(errors="replace"), width, "dim")
            continue
        while mine and mine[0].at <= line.ts:
            lines += _act(mine.popleft(), width, now)
        lines += _entry(line.ts, line.text, width, now)
    for each in mine:
        lines += _act(each, width, now)
    return lines or [(("No supervisor has logged anything yet: fleet run", "dim"),)]


def _entry(at: datetime, text: str, width: int, now: datetime) -> Iterator[SpanLine]:
    style = "red" if any(word in text.lower() for word in _BAD) else ""
    for number, row in enumerate(paragraph(text, width, style, _INDENT)):
        yield ((_when(at, now), "dim"), *row[1:]) if number == 0 else row


def _act(each: DoneAct, width: int, now: datetime) -> Iterator[SpanLine]:
    """The command line of an act, and the result."""
    yield ((_when(each.at, now), "dim"), (f"$ {said(each.line)}", "bold cyan"))
    yield from paragraph(each.words, width, "red" if each.refused else "cyan", _INDENT)


def _when(at: datetime, now: datetime) -> str:
    return f"{moment(at, now)[-8:]:>8} "
