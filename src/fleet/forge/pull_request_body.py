"""The text of a pull request: what fleet saw of the run behind it. Pure."""

from fleet.schemas import Receipt
from fleet.schemas.receipt import Check, FileChange

_MOST_FILES = 30
_MOST_TEXT = 2000


def pull_request_body(task_id: str, title: str, receipt: Receipt | None) -> str:
    """The receipt of a run, for the people who review the work."""
    lines = [f"Task `{task_id}`: {title}", ""]
    if receipt is None:
        return "\n".join([*lines, "There is no receipt of the run that made this."])
    verdict = receipt.verdict.state if receipt.verdict is not None else "without a verdict"
    who = " ".join(filter(None, (receipt.coder, receipt.model, receipt.version)))
    lines += [f"**{verdict}** · {who} · run {receipt.run}{_figures(receipt)}", ""]
    if receipt.claim:
        lines += ["The agent says:", "", *_fenced(receipt.claim[:_MOST_TEXT]), ""]
    if receipt.checks:
        lines += ["Checks that fleet ran on this very tree:", ""]
        lines += [_check(check) for check in receipt.checks]
    else:
        lines.append("No verify command was configured: nothing was checked.")
    if receipt.changes is not None and receipt.changes.count:
        lines += ["", f"{receipt.changes.count} files changed:", ""]
        lines += [_change(change) for change in receipt.changes.files[:_MOST_FILES]]
        if (more := receipt.changes.count - _MOST_FILES) > 0:
            lines.append(f"- and {more} more")
    return "\n".join(lines) + "\n"


def _figures(receipt: Receipt) -> str:
    minutes = f" · {receipt.seconds / 60:.0f} min" if receipt.seconds else ""
    cost = f" · ${receipt.cost:.2f}" if receipt.cost is not None else ""
    return f"{minutes} · {receipt.turns} turns{cost}" if receipt.turns else f"{minutes}{cost}"


def _check(check: Check) -> str:
    mark = "passed" if check.passed else "failed"
    return f"- {_code(check.command)} {mark} in {check.seconds:.0f} s"


def _change(change: FileChange) -> str:
    return f"- {_code(change.path)} {change.kind}, +{change.added} -{change.removed}"


def _fenced(text: str) -> list[str]:
    """An agent's words, in which no mention reaches a person and nothing closes an issue."""
    return ["```text", *text.replace("```", "` ` `").splitlines(), "```"]


def _code(text: str) -> str:
    """Text that a forge shows unchanged; nothing becomes a link, a mention or a tag."""
    plain = " ".join(text.split()).replace("`", "'")
    return f"`{plain}`"
