"""Writes the shapes of `docs/api.md` from the values themselves; `make docs` calls it."""

import ast
import inspect
import re
from pathlib import Path

from fleet.accounts.account_state import HeldLogin
from fleet.control.accounts import AccountNow, AccountsView
from fleet.control.acts.act_table import ActEnd, ActField, ActShown, shown_acts
from fleet.control.acts.create import KnownPlaces, KnownProject
from fleet.control.review import patch
from fleet.control.tasks.questions import Question
from fleet.control.usage import Spent, UsageView
from fleet.control.view import live_now, now, task_graph, timeline
from fleet.control.view.task import comparison_view, read_diff, transcript, whole_task
from fleet.home.landing_json import LandedAs, Landing
from fleet.home.messages import Delivery, Message
from fleet.schemas import (
    Account,
    Changes,
    Check,
    Command,
    Comment,
    FileChange,
    Finding,
    Receipt,
    Spend,
    Task,
    Usage,
    Verdict,
    Window,
)
from fleet.schemas.budget import Budget, BudgetStatus
from fleet.schemas.comparison import Result, Size

FILE = Path(__file__).parents[2] / "docs" / "api.md"
MARK = "<!-- From here on made from the program by `make docs`; a test compares the two. -->\n"

#: The values in the order of the page.
SHAPES = (
    now.Now, now.SupervisorNow, now.GroupCounts, now.TaskRow, now.RunNow, now.WayOn,
    live_now.NowChange, Spend,
    whole_task.WholeTask, whole_task.SettingOf, whole_task.RunSummary, whole_task.TaskTexts,
    whole_task.QuestionAsked, Task, Receipt, Verdict, Finding, Check, Command, Changes, FileChange,
    Usage, Delivery, Message, Comment, Landing, LandedAs,
    transcript.Transcript, transcript.TranscriptEntry, transcript.TranscriptHits,
    transcript.TranscriptHit,
    read_diff.Diff, patch.FileOfDiff, read_diff.DiffPart, patch.DiffHunk, patch.DiffRow,
    Question,
    timeline.Timeline, timeline.Lane, timeline.Segment, timeline.Band,
    UsageView, Spent,
    AccountsView, AccountNow, Account, Window, HeldLogin, BudgetStatus, Budget,
    task_graph.TaskGraph, task_graph.GraphEdge,
    comparison_view.ComparisonView, comparison_view.ComparedEntry, Result, Size,
    KnownPlaces, KnownProject, ActEnd, ActShown, ActField,
)  # fmt: skip


def written() -> str:
    """The part of the page that is made from the program."""
    parts = ["## Acts", _acts(), "## Shapes", *(_shape(kind) for kind in SHAPES)]
    return MARK + "\n" + "\n\n".join(parts) + "\n"


def _acts() -> str:
    rows = ["| verb | role | fields | meaning |", "| --- | --- | --- | --- |"]
    for act in shown_acts():
        told = ", ".join(f"`{each.name}`" + ("" if each.required else "?") for each in act.fields)
        rows.append(f"| `{act.verb}` | {act.role} | {told} | {act.about} |")
    return "\n".join(rows)


def _shape(kind: type) -> str:
    head = f"### {kind.__name__}\n\n{inspect.getdoc(kind)}\n"
    rows = ["| field | type | meaning |", "| --- | --- | --- |"]
    rows += [
        f"| `{name}` | `{typed.replace('|', chr(92) + '|')}` | {about} |"
        for name, typed, about, _ in _fields(kind)
    ]
    return "\n".join([head, *rows])


def _fields(kind: type) -> list[tuple[str, str, str, bool]]:
    """Name, type, meaning and whether it must be given, as the class says them."""
    lines, _ = inspect.getsourcelines(kind)
    source = "".join(lines)
    found: list[tuple[str, str, str, bool]] = []
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    text = source.splitlines()
    written_as = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    for part in node.body:
        if not isinstance(part, ast.AnnAssign):
            continue
        about = _told_above(text, part.lineno - 1)
        typed = re.sub(r"\s+", " ", ast.unparse(part.annotation))
        name = written_as[ast.unparse(part.target)]
        found.append((name, typed, about, part.value is None))
    return found


def _told_above(text: list[str], at: int) -> str:
    """The `#:` comment right above a line, as one sentence."""
    above: list[str] = []
    while at > 0 and text[at - 1].strip().startswith("#:"):
        at -= 1
        above.append(text[at].strip().removeprefix("#:").strip())
    return " ".join(reversed(above)).replace("|", "\\|")


def page() -> str:
    """The whole page, with its last part made anew."""
    return FILE.read_text(encoding="utf-8").partition(MARK)[0] + written()


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
