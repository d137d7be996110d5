"""One task as lines: the receipt with what stands around it, the plan, the runs. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fleet.control.review.receipt_rows import landing_rows, receipt_rows, verdict_words
from fleet.control.view.now import TaskRow
from fleet.control.view.task.whole_task import RunSummary, WholeTask
from fleet.schemas.receipt import VERDICT_COLOURS
from fleet.schemas.shown_text import bar, count, duration, fullness, moment
from fleet.tui.spans import EMPTY, SpanLine, column, fact, paragraph, said
from fleet.tui.views.now_list import context_percent, cost_words, mark_of

_GAUGE = 20
#: How many lines of what a verify command printed are shown, and how many neighbours are named.
_TAIL, _NAMED = 12, 8


def receipt_page(whole: WholeTask, width: int) -> list[SpanLine]:
    """How the task stands and why, what the last run had shown, what was asked for."""
    row, at = whole.row, whole.as_of
    lines: list[SpanLine] = [*_head(row, at, width)]
    if row.question:
        lines += [EMPTY, (("ASKS", "bold magenta"),), *paragraph(row.question, width, indent=2)]
    if whole.invalid:
        lines += fact("invalid", f"{whole.invalid}. {whole.hint}", width, "red")
    lines += _run_now(row, at, width)
    lines += _receipt(whole, width)
    lines += _asked_for(whole, width)
    lines += _around(whole, width)
    return lines


def plan_page(whole: WholeTask, width: int) -> list[SpanLine]:
    """The agent's plan and findings."""
    texts = whole.texts
    lines: list[SpanLine] = []
    for name, text in (("PLAN", texts.plan), ("FOUND OUT", texts.knowledge)):
        if text:
            lines += [*_section(name), *(_markdown(row) for row in paragraph(text, width))]
    if texts.cut:
        lines += [EMPTY, ((f"The end is cut: fleet task {said(whole.row.id)} plan", "dim"),)]
    none = "The agent has written no plan yet. What it does: l shows its transcript."
    return lines or list(paragraph(none, width, "dim"))


def runs_page(whole: WholeTask, width: int) -> list[SpanLine]:
    """Every run of the task, latest first."""
    lines: list[SpanLine] = []
    for run in sorted(whole.runs, key=lambda each: -each.number):
        lines += [*_run(run, whole.as_of, width), EMPTY]
    if whole.messages:
        lines += _section("TOLD")
    for each in whole.messages:
        reader = f"read by run {each.run}" if each.run else "waits for the next run"
        lines += [*paragraph(each.line, width, indent=2), ((f"    {reader}", "dim"),)]
    return lines or [(("No run yet.", "dim"),)]


def _head(row: TaskRow, at: datetime, width: int) -> Iterator[SpanLine]:
    yield from paragraph(row.title, width, "bold")
    mark, style = mark_of(row)
    since = f" for {duration((at - row.since).total_seconds())}" if row.since else ""
    if row.group == "done" and row.since:
        since = f" {duration((at - row.since).total_seconds())} ago"
    yield ((f"{mark} {row.state}", style), (since, "dim"))
    if row.reason and not row.question:
        yield from fact("why", row.reason, width, "yellow")
    if row.until:
        yield from fact("until", moment(row.until, at.astimezone()), width)
    if row.way_on:
        yield from fact("way on", row.way_on.line, width, "cyan")
    if row.landing_words and row.group != "needs_you":
        yield from fact("landing", row.landing_words, width)


def _run_now(row: TaskRow, at: datetime, width: int) -> Iterator[SpanLine]:
    run = row.run
    if run is None:
        return
    yield from _section(f"RUN {run.number}")
    coder = f"{row.coder} {row.model}".strip()
    account = f" on {row.account}" if row.account not in ("", row.coder) else ""
    yield from fact("doing", f"{row.state}, {coder}{account}", width)
    if run.last_step:
        quiet = (at - run.last_event_at).total_seconds() if run.last_event_at else 0
        yield from fact("last step", f"{run.last_step} ({duration(quiet)} ago)", width)
    if (percent := context_percent(row)) is not None:
        gauge = bar(percent / 100, _GAUGE)
        used = count(run.context_tokens or run.context_peak)
        words = f" {percent}% of {count(run.context_window)} ({used})"
        yield ((column("context", 12), "dim"), (gauge, fullness(percent)), (words, ""))
    took = duration((at - run.started_at).total_seconds()) if run.started_at else "?"
    parts = [took, f"{run.events} events", f"{run.tool_calls} tool calls", run.spent.words()]
    yield from fact("so far", ", ".join(parts), width)
    for near in run.near:
        yield from fact("near", near, width, "yellow")


def _receipt(whole: WholeTask, width: int) -> Iterator[SpanLine]:
    receipt = whole.receipt
    if receipt is None:
        return
    state = receipt.verdict.state if receipt.verdict else None
    yield from _section(f"RECEIPT OF RUN {receipt.run}")
    yield ((verdict_words(receipt), f"bold {VERDICT_COLOURS[state]}" if state else "bold"),)
    for each in (*landing_rows(whole.landing), *receipt_rows(receipt)):
        rows = fact(each.name, each.text, width, "red" if each.name == "broke" else "")
        if each.end:
            rows[-1] = (*rows[-1], (f"  {each.end}", each.style))
        yield from rows
    for check in receipt.checks:
        if not check.passed and check.tail:
            tail = "\n".join(check.tail.strip().splitlines()[-_TAIL:])
            yield ((f"the end of {said(check.command)}:", "dim"),)
            yield from paragraph(tail, width, "red", indent=2)


def _asked_for(whole: WholeTask, width: int) -> Iterator[SpanLine]:
    task = whole.task
    yield from _section("TASK")
    yield from fact("id", f"{task.id}  P{task.priority}  {task.issue_type}", width)
    for setting in whole.settings:
        yield from fact(setting.name, f"{setting.value}  ({setting.source})", width)
    if whole.clone:
        yield from fact("works in", whole.clone, width)
    if whole.branch:
        yield from fact("branch", whole.branch, width)
    yield from fact("spent", whole.row.spent.words(), width)
    texts = (
        ("", task.description),
        ("DESIGN", task.design),
        ("ACCEPTANCE", task.acceptance_criteria),
        ("NOTES", task.notes),
    )
    for name, text in texts:
        if text.strip():
            yield from (_section(name) if name else [EMPTY])
            yield from paragraph(text, width)


def _around(whole: WholeTask, width: int) -> Iterator[SpanLine]:
    for name, rows in (("WAITS FOR", whole.waits_for), ("UNBLOCKS", whole.unblocks)):
        if not rows:
            continue
        yield from _section(name)
        yield from (_neighbour(row) for row in rows[:_NAMED])
        if len(rows) > _NAMED:
            yield ((f"  and {len(rows) - _NAMED} more", "dim"),)
    if whole.comments:
        yield from _section("COMMENTS")
    for comment in whole.comments:
        yield ((f"{said(comment.author)}, {comment.created_at:%F %H:%M}", "dim"),)
        yield from paragraph(comment.text, width, indent=2)


def _neighbour(row: TaskRow) -> SpanLine:
    mark, style = mark_of(row)
    return ((f"{mark} ", style), (f"{said(row.id)}  ", "cyan"), (said(row.title), ""))


def _run(run: RunSummary, at: datetime, width: int) -> Iterator[SpanLine]:
    state = run.outcome or "goes on"
    verdict = f", {run.verdict}" if run.verdict else ""
    good = run.verdict in ("checked", "unchecked")
    style = "green" if good else "red" if run.outcome and run.counts else "yellow"
    yield ((f"run {run.number}  ", "bold"), (f"{said(state)}{verdict}", style))
    if run.why:
        yield from fact("why", run.why.strip().partition("\n")[0], width)
    coder = f"{run.coder} {run.model}".strip()
    account = f" on {run.account}" if run.account not in ("", run.coder) else ""
    yield from fact("with", f"{coder}{account}", width)
    if run.begun:
        end = run.ended or at
        took = duration((end - run.begun).total_seconds())
        parts = [moment(run.begun, at.astimezone()), f"took {took}", cost_words(run.spent)]
        yield from fact("began", ", ".join(part for part in parts if part), width)
    if run.outcome and not run.counts and not good:
        yield from fact("", "it cost no attempt", width, "dim")


def _section(name: str) -> Sequence[SpanLine]:
    return [EMPTY, ((name, "bold"),)]


def _markdown(line: SpanLine) -> SpanLine:
    """Headings and check boxes of a plan stand out; nothing else is read."""
    text, style = line[-1]
    if text.startswith("#"):
        return (*line[:-1], (text, "bold"))
    if text.lstrip().startswith(("- [x]", "- [X]")):
        return (*line[:-1], (text, "green"))
    return (*line[:-1], (text, style))
