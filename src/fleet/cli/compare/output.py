"""What `fleet compare` prints: the table of entries, figures by coder and model, diffs, JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fleet.cli.cost.stats import share_words
from fleet.cli.json_output import print_json
from fleet.cli.print_file import changed_file, coloured_diff
from fleet.cli.terminal_text import painted, table
from fleet.control.compare.results import EntryDiff, Range, Summary, summaries
from fleet.control.usage import ENOUGH
from fleet.schemas.comparison import Comparison, Entry, EntryStanding, Result
from fleet.schemas.receipt import VERDICT_COLOURS
from fleet.schemas.shown_text import count, counted, cut, duration, first_line, one_line

_COLOURS: Mapping[EntryStanding, str] = {
    **VERDICT_COLOURS,
    "failed": "red",
    "gone": "red",
    "asks": "yellow",
    "stopped": "yellow",
    "again": "yellow",
    "running": "cyan",
    "verifying": "cyan",
}
_HEAD = ("entry", "coder", "result", "time", "tokens", "cost", "change", "runs")
#: Which columns go first where there is no room; --json has all of them.
_DROP = ("runs", "tokens", "cost", "change")
_RIGHT = frozenset({"time", "tokens", "cost", "runs"})


def entry_table(entries: Sequence[Entry], width: int) -> Iterator[str]:
    """A line for each entry, followed by the reason if there is one to tell."""
    rows: list[Sequence[str]] = []
    for entry in entries:
        if entry.result is not None:
            rows.append(_cells(entry, entry.result))
            if entry.result.why:
                rows.append(painted(f"    {cut(first_line(entry.result.why), width - 4)}", "dim"))
    return table(_HEAD, rows, right=_RIGHT, width=width, drop=_DROP)


def _cells(entry: Entry, result: Result) -> tuple[str, ...]:
    began = result.attempts > 0
    return (
        entry.task_id or "-",
        one_line(entry.label),
        painted(result.standing, _COLOURS.get(result.standing, "")),
        _so_far(duration(result.seconds), result.untimed, result.attempts) if began else "-",
        _tokens(result) if began else "-",
        shown_cost(result) if began else "-",
        shown_size(result),
        str(result.attempts),
    )


def _so_far(known: str, unknown: int, runs: int) -> str:
    """A figure, with a mark where unknown for some runs; `unknown` if for all."""
    return "unknown" if unknown >= runs else known + ("+?" if unknown else "")


def _tokens(result: Result) -> str:
    if result.tokens is None:
        return "unknown"
    return count(result.tokens) + ("+?" if result.uncounted else "")


def shown_cost(result: Result) -> str:
    if result.unpriced >= result.attempts:
        return "unknown"
    mark = "~" if result.estimated_usd else ""
    return f"{mark}${result.cost_usd:.2f}" + ("+?" if result.unpriced else "")


def shown_size(result: Result) -> str:
    size = result.size
    if size is None:
        return "-"
    return (
        f"{counted(size.files, 'file')} +{size.added} -{size.removed}" if size.files else "nothing"
    )


def summary_table(found: Sequence[Summary]) -> Iterator[str]:
    """A line for each coder and model: the least, the median and the most of each figure, and in
    parentheses the number of entries behind the figure.
    """
    rows = [
        (
            one_line(f"{row.coder}:{row.model}" if row.model else row.coder),
            str(row.over),
            share_words(row.checked, row.checked_rate),
            share_words(row.unchecked, row.unchecked_rate),
            _range(row.seconds, duration),
            _range(row.tokens, lambda number: count(round(number)), "unknown"),
            _range(row.cost, lambda dollars: f"${dollars:.2f}", "unknown"),
            _range(row.lines, lambda number: f"{number:.0f}"),
        )
        for row in found
    ]
    head = ("coder", "over", "checked", "unchecked", "time", "tokens", "cost", "lines changed")
    yield from table(head, rows, right=("over", "checked", "unchecked"))
    few = min((row.over for row in found), default=0)
    if few < ENOUGH:
        text = f"(n): number of entries. Too few to rank; rates are shown from {ENOUGH} on."
        yield painted(text, "dim")


def _range(found: Range | None, show: Callable[[float], str], none: str = "-") -> str:
    if found is None:
        return none
    least, middle, most = show(found.least), show(found.middle), show(found.most)
    text = middle if least == most else f"{least} / {middle} / {most}"
    return f"{text} ({found.of})"


def diff_lines(diffs: Sequence[EntryDiff]) -> Iterator[str]:
    """The changed files of each entry, then the diffs one after the other."""
    for diff in diffs:
        result = diff.entry.result
        state = f": {result.standing}, {shown_size(result)}" if result is not None else ""
        yield painted(one_line(diff.name), "bold") + state
        if diff.trouble:
            yield f"  {one_line(diff.trouble)}"
        for file in diff.files:
            yield f"  {changed_file(file)}"
        yield ""
    for diff in diffs:
        if diff.patch:
            yield painted(f"── {one_line(diff.name)} ──", "bold")
            yield from coloured_diff([diff.patch.encode(errors="replace")])
            yield ""


def print_comparison(comparison: Comparison, found: Sequence[Entry]) -> None:
    shape: dict[str, Any] = msgspec.to_builtins(comparison, builtin_types=())
    shape["entries"] = [_entry_shape(entry) for entry in found]
    shape["summary"] = summaries(found)
    print_json(shape)


def _entry_shape(entry: Entry) -> dict[str, Any]:
    """An entry with the result; an unknown cost is null, never 0."""
    shape: dict[str, Any] = {
        "task_id": entry.task_id,
        "coder": entry.coder,
        "model": entry.model,
        "turn": entry.turn,
    }
    result = entry.result
    if result is None:
        return shape
    return {
        **shape,
        "standing": result.standing,
        "checked": result.standing == "checked",
        "unchecked": result.standing == "unchecked",
        "over": result.is_over,
        "why": result.why,
        "attempts": result.attempts,
        "seconds": None if result.untimed else result.seconds,
        "tokens": result.tokens,
        "usage": msgspec.to_builtins(result.usage),
        "cost_usd": result.cost,
        "known_cost_usd": result.cost_usd,
        "estimated_usd": result.estimated_usd,
        "unpriced_runs": result.unpriced,
        "size": msgspec.to_builtins(result.size),
    }
