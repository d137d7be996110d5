"""A receipt as named rows for people, the same on every surface. Pure.

Text of agents is in them as it is: a surface makes it harmless where it draws it.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fleet.home.landing_json import Landing
from fleet.schemas import Changes, Check, FileChange, Receipt
from fleet.schemas.budget import shown_usd
from fleet.schemas.shown_text import count, counted, duration, ending_words, one_line
from fleet.schemas.units import shown_size

#: How many files and commands are listed; --json has all.
_MOST = 20


class ReceiptRow(Struct, frozen=True):
    """A named value, with an end in a colour; without a name: more of the row above."""

    name: str
    text: str
    end: str = ""
    style: str = ""


def verdict_words(receipt: Receipt) -> str:
    """What a run had shown, in a word or a few."""
    verdict = receipt.verdict
    if receipt.claim is None and (verdict is None or not verdict.trespasses):
        return f"{_outcome_words(receipt.outcome)}, nothing was claimed"
    if verdict is None:
        return f"{_outcome_words(receipt.outcome)}, its claim was not judged"
    return verdict.state


def _outcome_words(outcome: str) -> str:
    """`RateLimited (five_hour)` as `rate limited (five_hour)`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", outcome).lower()


def landing_rows(landing: Landing | None) -> Iterator[ReceiptRow]:
    """How far the run's work is on the way to the branch; of landed work commit, parents, checks
    and proof.
    """
    if landing is None:
        return
    approved = f", approved by {one_line(landing.approved_by)}" if landing.approved_by else ""
    yield ReceiptRow("landing", f"{one_line(landing.words())}{approved}")
    if landing.landed is None or landing.state != "landed":
        return
    landed = landing.landed
    yield ReceiptRow("", f"commit {landed.commit}")
    if len(landed.parents) > 1:
        yield ReceiptRow("", f"merge of {' and '.join(each[:12] for each in landed.parents)}")
    for command in landed.checks:
        yield ReceiptRow("", f"passed there: {one_line(command.removeprefix('.: '))}")
    for place in (landed.pushed, landed.pr):
        if place:
            yield ReceiptRow("", one_line(place))


def receipt_rows(receipt: Receipt) -> Iterator[ReceiptRow]:
    """All that a receipt tells, the ending first."""
    yield ReceiptRow("ended", ending_words(receipt.outcome, receipt.why))
    if receipt.claim is not None:
        yield ReceiptRow("claim", one_line(receipt.claim))
    if receipt.verdict is not None:
        for finding in receipt.verdict.broken:
            head, *rest = finding.what.splitlines() or [""]
            yield ReceiptRow("broke", f"{finding.rule}: {one_line(head)}")
            yield from (ReceiptRow("", one_line(line)) for line in rest)
    for check in receipt.checks:
        yield ReceiptRow("verify", one_line(check.command), *_ending(check))
        if check.tree:
            yield ReceiptRow("", f"in a fresh checkout of the tree {check.tree[:12]}")
        if check.tests_words:
            yield ReceiptRow("", f"tests: {check.tests_words}")
        if check.base is not None and not check.base.passed:
            yield ReceiptRow("", "failed on the base, too")
        if check.restored:
            names = ", ".join(map(one_line, check.restored))
            yield ReceiptRow("", f"with the original of {names}: the agent had changed it")
    exam = (("changed", receipt.exam.changed), ("added", receipt.exam.added))
    for kind, path in [(kind, path) for kind, paths in exam for path in paths][:_MOST]:
        yield ReceiptRow("exam", f"{kind:<8}{one_line(path)}")
    left = len(receipt.exam.changed) + len(receipt.exam.added) - _MOST
    if left > 0:
        yield ReceiptRow("exam", f"… and {left} more (--json)")
    yield ReceiptRow("with", _with(receipt))
    yield ReceiptRow("took", _took(receipt))
    yield ReceiptRow("tools", _tools(receipt))
    ran = [command for command in receipt.commands if not command.denied]
    for command in ran[:_MOST]:
        yield ReceiptRow(
            "ran", one_line(command.text) + (f"  ({command.ending})" if command.ending else "")
        )
    left = len(ran) + receipt.more_commands - _MOST
    if left > 0:
        yield ReceiptRow("ran", f"… and {left} more (--json)")
    for words in receipt.destroyed[:_MOST]:
        yield ReceiptRow("destroys", one_line(words), "outside of the project", "red")
    for call in receipt.denied_calls[:_MOST] or sorted(set(receipt.denied)):
        yield ReceiptRow("denied", one_line(call))
    yield from _changes(receipt.changes)
    yield from _whole(receipt.whole)
    yield from _rejected(receipt)
    if receipt.artifacts:
        yield ReceiptRow("artifacts", ", ".join(map(one_line, receipt.artifacts)))
    if receipt.swept:
        yield ReceiptRow("swept", ", ".join(map(one_line, receipt.swept)))
    shown = receipt.policy.limits.shown()
    if receipt.policy.budget:
        yield ReceiptRow("budget", f"{receipt.policy.budget} for the whole task")
    yield ReceiptRow("limits", ", ".join(f"{name} {value}" for name, value in shown.items()))


def _ending(check: Check) -> tuple[str, str]:
    """How a verify command ended, and in which colour."""
    if check.passed:
        return f"passed in {duration(check.seconds)}", "green"
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"stopped after {duration(check.seconds)}"
    else:
        how = f"failed with {check.code} in {duration(check.seconds)}"
    return one_line(how), "red"


def _with(receipt: Receipt) -> str:
    own = receipt.account in ("", receipt.coder)
    words = [receipt.coder, receipt.version, receipt.model, "" if own else f"on {receipt.account}"]
    words += [f"at host {receipt.host}"] if receipt.host else []
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
    """The cost that the CLI told, fleet's estimate by tokens, or that the cost is not known."""
    if receipt.cost_usd is not None:
        return f"${receipt.cost_usd:.2f}"
    if receipt.partial and receipt.estimated_usd is not None:
        return f"cost unknown, at least ~{shown_usd(receipt.estimated_usd, exact=True)}"
    if receipt.estimated_usd is not None:
        return f"~{shown_usd(receipt.estimated_usd, exact=True)} by its tokens"
    return "cost unknown"


def _tools(receipt: Receipt) -> str:
    if not receipt.tools:
        return "none"
    used = sorted(receipt.tools.items(), key=lambda pair: (-pair[1], pair[0]))
    text = ", ".join(f"{one_line(name)} x{number}" for name, number in used)
    return text + (f" ({receipt.tool_errors} failed)" if receipt.tool_errors else "")


def _whole(files: Sequence[FileChange]) -> Iterator[ReceiptRow]:
    """What all runs of the task changed together, where that is more than the last one did."""
    if not files:
        return
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    total = f"{counted(len(files), 'file')}  +{added} -{removed}"
    yield ReceiptRow("all runs", f"{total} against the commit that the task began at")
    for file in files[:_MOST]:
        yield ReceiptRow("", f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}")
    if len(files) > _MOST:
        yield ReceiptRow("", f"… and {len(files) - _MOST} more (--json)")


def _rejected(receipt: Receipt) -> Iterator[ReceiptRow]:
    """What rejected runs left in the work, and how to begin without it."""
    for each in receipt.rejected_work[:_MOST]:
        names = ", ".join(map(one_line, each.files[:_MOST]))
        more = f" and {len(each.files) - _MOST} more" if len(each.files) > _MOST else ""
        text = f"{names}{more}: from run {each.run}, rejected ({', '.join(each.rules)})"
        yield ReceiptRow("left over", text, "part of the work", "yellow")
    verdict, changed = receipt.verdict, receipt.changes is not None and receipt.changes.count
    broke = verdict is not None and verdict.broken and (changed or receipt.whole)
    if receipt.policy.work_in == "clone" and (receipt.rejected_work or broke):
        line = f"fleet retry --fresh {receipt.task_id}"
        yield ReceiptRow("anew", f"without what rejected runs left: {line}")


def _changes(changes: Changes | None) -> Iterator[ReceiptRow]:
    if changes is None:
        yield ReceiptRow("changed", "not known: its directory is in no git repository")
        return
    if changes.trouble:
        yield ReceiptRow("changed", f"not known for certain: {one_line(changes.trouble)}")
    elif not changes.count and not changes.commits:
        yield ReceiptRow("changed", "nothing")
    if changes.shared_with:
        tasks = ", ".join(map(one_line, changes.shared_with))
        words = "worked in the same directory meanwhile: what no stream names may be theirs"
        yield ReceiptRow("", f"{tasks} {words}")
    for file in changes.files[:_MOST]:
        yield ReceiptRow(
            "changed", f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}"
        )
    if changes.count > _MOST:
        yield ReceiptRow("changed", f"… and {changes.count - _MOST} more (--json)")
    for file in changes.others[:_MOST]:
        yield ReceiptRow("by others", f"{file.kind:<8}{one_line(file.path)}")
    for work in changes.misplaced.elsewhere[:_MOST]:
        place = f"the branch {work.name}" if work.kind == "branch" else work.name or "no branch"
        text = f"on {place}: {work.commit[:12]} {work.title}, held by {work.held_by}"
        yield ReceiptRow("elsewhere", one_line(text))
    for path in changes.kept[:_MOST]:
        words = "committed, and gone from the working tree without a commit"
        yield ReceiptRow("kept", f"{one_line(path)}  ({words})")
    for commit in changes.commits[:_MOST]:
        yield ReceiptRow("commit", one_line(commit))
