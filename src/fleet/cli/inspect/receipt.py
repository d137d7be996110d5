"""`fleet task ID receipt`: what fleet saw of one run, the verdict first."""

from collections.abc import Iterator, Mapping
from typing import Any

import click
import msgspec

from fleet.cli.json_output import pretty
from fleet.cli.print_lines import print_line, row
from fleet.cli.terminal_text import count, duration, one_line, told_ending
from fleet.home.landing_json import Landing
from fleet.schemas import Changes, Check, Receipt
from fleet.schemas.budget import shown_usd
from fleet.schemas.receipt import VerdictState
from fleet.schemas.units import shown_size

_COLOURS: Mapping[VerdictState, str] = {
    "checked": "green",
    "plausible": "cyan",
    "unverified": "yellow",
    "out_of_scope": "red",
}
#: The column that values begin at.
_COLUMN = 12
#: How many files and commands are listed; --json has all.
_MOST = 20


def show_receipt(receipt: Receipt, *, as_json: bool, landing: Landing | None = None) -> None:
    """Print a receipt, with what became of the run's work where it lands."""
    if as_json:
        shape: dict[str, Any] = msgspec.to_builtins(receipt)
        if receipt.verdict is not None:
            shape["verdict"]["state"] = receipt.verdict.state
        if landing is not None:
            shape["landing"] = msgspec.to_builtins(landing)
        click.echo(pretty(shape))
        return
    for line in receipt_lines(receipt, landing):
        print_line(line, _COLUMN)


def receipt_lines(receipt: Receipt, landing: Landing | None = None) -> Iterator[str]:
    """The receipt for people, row by row."""
    earlier = f"; the run before: --run {receipt.run - 1}" if receipt.run > 1 else ""
    yield f"{receipt.task_id}, run {receipt.run}: {_state(receipt)}{earlier}"
    for name, value in (*_landing_rows(landing), *_rows(receipt)):
        yield row(name, value, _COLUMN)


def _landing_rows(landing: Landing | None) -> Iterator[tuple[str, str]]:
    """How far the run's work is on its way; of a landing its commit, parents, checks and proof."""
    if landing is None:
        return
    approved = f", approved by {one_line(landing.approved_by)}" if landing.approved_by else ""
    yield "landing", f"{one_line(landing.words())}{approved}"
    if landing.landed is None or landing.state != "landed":
        return
    landed = landing.landed
    yield "", f"commit {landed.commit}"
    yield "", f"parents {' '.join(each[:12] for each in landed.parents)}, by {landed.proof}"
    for command in landed.checks:
        yield "", f"passed there: {one_line(command.removeprefix('.: '))}"
    for place in (landed.pushed, landed.pr):
        if place:
            yield "", one_line(place)


def _state(receipt: Receipt) -> str:
    verdict = receipt.verdict
    if receipt.claim is None and (verdict is None or not verdict.trespasses):
        return f"{receipt.outcome}, nothing was claimed"
    if verdict is None:
        return f"{receipt.outcome}, its claim was not judged"
    state = verdict.state
    word = click.style(state.replace("_", " "), fg=_COLOURS[state], bold=True)
    return f"{word}, no verify command" if state == "plausible" else word


def _rows(receipt: Receipt) -> Iterator[tuple[str, str]]:
    yield "ended", told_ending(receipt.outcome, receipt.why)
    if receipt.claim is not None:
        yield "claim", one_line(receipt.claim)
    if receipt.verdict is not None:
        for finding in (*receipt.verdict.trespasses, *receipt.verdict.findings):
            head, *rest = finding.what.splitlines() or [""]
            yield "broke", f"{finding.rule}: {one_line(head)}"
            yield from (("", one_line(line)) for line in rest)
    for check in receipt.checks:
        yield "verify", f"{one_line(check.command)}  {_ending(check)}"
        if check.tree:
            yield "", f"in a fresh checkout of the tree {check.tree[:12]}"
        if check.restored:
            names = ", ".join(map(one_line, check.restored))
            yield "", f"with the original of {names}: the agent had changed it"
    yield "with", _with(receipt)
    yield "took", _took(receipt)
    yield "tools", _tools(receipt)
    ran = [command for command in receipt.commands if not command.denied]
    for command in ran[:_MOST]:
        yield "ran", one_line(command.text) + (f"  ({command.ending})" if command.ending else "")
    left = len(ran) + receipt.more_commands - _MOST
    if left > 0:
        yield "ran", f"… and {left} more (--json)"
    for call in receipt.denied_calls[:_MOST] or sorted(set(receipt.denied)):
        yield "denied", one_line(call)
    yield from _changes(receipt.changes)
    if receipt.artifacts:
        yield "artifacts", ", ".join(map(one_line, receipt.artifacts))
    if receipt.swept:
        yield "swept", ", ".join(map(one_line, receipt.swept))
    shown = receipt.policy.limits.shown()
    if receipt.policy.budget:
        yield "budget", f"{receipt.policy.budget} for the whole task"
    yield "limits", ", ".join(f"{name} {value}" for name, value in shown.items())


def _ending(check: Check) -> str:
    if check.passed:
        return click.style(f"passed in {duration(check.seconds)}", fg="green")
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"stopped after {duration(check.seconds)}"
    else:
        how = f"failed with {check.code} in {duration(check.seconds)}"
    return click.style(one_line(how), fg="red")


def _with(receipt: Receipt) -> str:
    own = receipt.account in ("", receipt.coder)
    words = [receipt.coder, receipt.version, receipt.model, "" if own else f"on {receipt.account}"]
    return " ".join(one_line(word) for word in words if word)


def _took(receipt: Receipt) -> str:
    parts = [
        "an unknown time" if receipt.seconds is None else duration(receipt.seconds),
        f"{receipt.turns} turns",
        _tokens(receipt),
        _cost(receipt),
    ]
    if receipt.cpu_seconds is not None:
        parts.append(f"{receipt.cpu_seconds:.1f} s of CPU")
    if receipt.memory_bytes is not None:
        parts.append(f"{shown_size(receipt.memory_bytes)} at most in one process")
    if receipt.stop_seconds is not None:
        parts.append(f"gone {receipt.stop_seconds:.1f} s after it was stopped")
    return ", ".join(parts)


def _tokens(receipt: Receipt) -> str:
    if not receipt.usage.total:
        return "unknown tokens"
    least = "at least " if receipt.partial else ""
    return f"{least}{count(receipt.usage.total)} tokens"


def _cost(receipt: Receipt) -> str:
    """The cost that the CLI told, fleet's estimate by tokens, or that it is not known."""
    if receipt.cost_usd is not None:
        return f"${receipt.cost_usd:.2f}"
    if receipt.partial and receipt.estimated_usd is not None:
        return f"cost unknown, at least ~{shown_usd(receipt.estimated_usd, exact=True)}"
    if receipt.estimated_usd is not None:
        return f"~{shown_usd(receipt.estimated_usd, exact=True)} by its tokens"
    return "cost unknown"


def _tools(receipt: Receipt) -> str:
    if not receipt.tools:
        return "none that its stream tells of"
    used = sorted(receipt.tools.items(), key=lambda pair: (-pair[1], pair[0]))
    text = ", ".join(f"{one_line(name)} x{number}" for name, number in used)
    return text + (f" ({receipt.tool_errors} failed)" if receipt.tool_errors else "")


def _changes(changes: Changes | None) -> Iterator[tuple[str, str]]:
    if changes is None:
        yield "changed", "not known: its directory is in no git repository"
        return
    if changes.trouble:
        yield "changed", f"not known for certain: {one_line(changes.trouble)}"
    elif not changes.count and not changes.commits:
        yield "changed", "nothing"
    if changes.shared_with:
        tasks = ", ".join(map(one_line, changes.shared_with))
        yield (
            "",
            f"{tasks} worked in the same directory meanwhile: what no stream names may be theirs",
        )
    for file in changes.files[:_MOST]:
        yield "changed", f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}"
    if changes.count > _MOST:
        yield "changed", f"… and {changes.count - _MOST} more (--json)"
    for file in changes.others[:_MOST]:
        yield "by others", f"{file.kind:<8}{one_line(file.path)}"
    for commit in changes.commits[:_MOST]:
        yield "commit", one_line(commit)
