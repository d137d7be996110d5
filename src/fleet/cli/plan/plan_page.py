"""How a plan looks on a terminal: the graph by waves, and what applying the plan would change."""

from collections.abc import Iterator, Sequence

from fleet.cli.terminal_text import folded, painted, terminal_width
from fleet.control.plan.apply import WrittenPlan
from fleet.control.plan.plan_view import ACCEPTANCE, EPIC, PlanView, TaskView
from fleet.schemas.shown_text import counted, cut, one_line, some

#: The sign and colour of each state.
_SIGNS = {
    "new": ("+", "green"),
    "changed": ("~", "yellow"),
    "same": ("=", "dim"),
    "left": ("!", "magenta"),
    "reopened": ("+", "green"),
}
#: Keys or files of a list that are shown before it is cut.
_MOST = 12


def plan_page(view: PlanView, apply_line: str) -> Iterator[str]:
    """The whole page of `fleet plan show`; `apply_line` is the command that makes the tasks."""
    width = terminal_width()
    yield painted(one_line(view.title), "bold")
    yield f"{one_line(view.spec)} ({view.format}) → {one_line(view.cwd)}"
    yield _figures(view)
    yield ""
    yield from _waves(view, width)
    yield from _checks(view)
    yield from _collisions(view)
    yield from uncommitted_words(view)
    yield from _standing(view, apply_line)


def _figures(view: PlanView) -> str:
    done = sum(task.state == "done" for task in view.tasks)
    work = len(view.tasks) - done - sum(task.state == "group" for task in view.tasks)
    if not work:
        return f"Nothing is left to do: {counted(done, 'task')} ticked in the spec."
    words = f"{counted(work, 'task')} in {counted(len(view.waves), 'wave')} and 1 for acceptance"
    words += f", at most {view.widest} at once" if view.widest > 1 else ""
    optional = sum(task.optional and task.wave > 0 for task in view.tasks)
    words += f"; {optional} optional, which no other waits for" if optional else ""
    ticked = f"; {done} ticked already" if done else ""
    return f"{words}{ticked}"


def _waves(view: PlanView, width: int) -> Iterator[str]:
    tasks = {task.key: task for task in view.tasks}
    room = max((len(one_line(key)) for key in tasks), default=0)
    for number, keys in enumerate(view.waves, start=1):
        yield painted(f"wave {number}", "bold")
        for key in keys:
            yield _line(tasks[key], min(room, 24), width)
    if view.waves:
        yield painted("at the end", "bold")
        shown = view.acceptance or "new"
        yield cut(f"  acceptance: holds the result against the spec as a whole ({shown})", width)
        yield ""
        chain = " → ".join(map(one_line, view.longest))
        yield folded(f"Longest chain ({len(view.longest)}): {chain}", 2)


def _line(task: TaskView, room: int, width: int) -> str:
    sign, colour = _SIGNS[task.state]
    known = "  (optional)" if task.optional else ""
    known += f"  [{task.id} {task.standing}]" if task.id else ""
    key = cut(one_line(task.key), room)
    words = cut(f"{key:<{room}}  {one_line(task.title)}", max(20, width - 4 - len(known)))
    return f"  {painted(sign, colour)} {words}{painted(known, 'dim')}"


def _checks(view: PlanView) -> Iterator[str]:
    proposed = list(commands_of(view))
    if proposed:
        yield ""
        yield "Verify commands that the spec proposes (they run once you apply it):"
        for command, keys in proposed:
            yield f"  {folded(f'{one_line(command)}  [{_listed(keys)}]', 6)}"
    if view.project_verify:
        listed = "; ".join(map(one_line, view.project_verify))
        yield folded(f"Every task has to pass the project's verify: {listed}", 2)
    elif view.unchecked:
        yield ""
        yield folded(
            f"{counted(len(view.unchecked), 'task')} without a check: {_listed(view.unchecked)}", 2
        )
        way = "fleet config set --project . verify='make test'"
        yield f"  {folded(f'Work there stays unchecked. For all of them: {way}', 2)}"


def commands_of(view: PlanView) -> Iterator[tuple[str, list[str]]]:
    """Each command that the spec proposes, with the keys of the tasks for that command."""
    found: dict[str, list[str]] = {}
    for task in view.tasks:
        if task.wave:
            for command in task.verify:
                found.setdefault(command, []).append(task.key)
    for command in view.verify:
        found.setdefault(command, []).append("acceptance")
    yield from found.items()


def _collisions(view: PlanView) -> Iterator[str]:
    if not view.claimed_twice:
        return
    yield ""
    yield "Named by several tasks of one wave, which may run into each other:"
    files = list(view.claimed_twice.items())
    for file, keys in files[:_MOST]:
        yield f"  {folded(f'{one_line(file)}: {_listed(keys)}', 6)}"
    if len(files) > _MOST:
        yield f"  … and {len(files) - _MOST} more files"


def uncommitted_words(view: PlanView) -> Iterator[str]:
    """A warning about files of the spec that a clone of the project would lack."""
    if view.uncommitted:
        are = "is" if len(view.uncommitted) == 1 else "are"
        words = f"{_listed(view.uncommitted)} {are} not committed: agents in clones do not see it"
        yield folded(f"Warning: {words}. Commit before they begin.", 2)


def _standing(view: PlanView, apply_line: str) -> Iterator[str]:
    """What differs from the queue, and what to do next; without a line the person is just asked."""
    found = view.changes
    if not apply_line and not view.epic:
        return
    yield ""
    if not view.epic:
        yield folded(f"Nothing of it is in the queue. To make the tasks: {apply_line}", 2)
        return
    counts = [
        f"{len(_work(keys))} {word}"
        for keys, word in (
            (found.new, "new (+)"),
            (found.changed, "changed (~)"),
            (found.same, "as they are (=)"),
            (found.left, "changed but begun, left alone (!)"),
        )
        if _work(keys)
    ]
    yield folded(f"Against {view.epic}: {', '.join(counts) or 'nothing'}", 2)
    for keys, words in (
        (found.gone, "no longer in the spec, never begun; --prune closes them"),
        (found.gone_begun, "no longer in the spec, but begun; left alone"),
        (found.ticked, "ticked in the spec, still open here"),
    ):
        if keys:
            ids = _listed([f"{key} ({view.gone[key]})" for key in keys])
            yield folded(f"{len(keys)} {words}: {ids}", 2)
    if found.writes and not apply_line:
        return
    if found.writes:
        yield folded(f"To write this: {apply_line}", 2)
    else:
        yield "Nothing to write."


def _work(keys: Sequence[str]) -> list[str]:
    """The keys in the spec: neither the epic nor the acceptance task."""
    return [key for key in keys if key not in (EPIC, ACCEPTANCE)]


def written_page(written: WrittenPlan) -> Iterator[str]:
    """What `fleet plan apply` did."""
    found = written.changes
    epic = written.ids.get(EPIC, "")
    work = [key for key in found.new if key != EPIC]
    parts = [
        f"{len(keys)} {word}"
        for keys, word in (
            (work, "made, 1 of them for acceptance" if ACCEPTANCE in work else "made"),
            (_work(found.changed), "changed"),
            (found.reopened, "opened again"),
            (written.pruned, "closed"),
        )
        if keys
    ]
    rest = "the epic has its new words" if found.writes else "0 changes"
    yield f"{epic}: {', '.join(parts) or rest}."
    for keys, words in (
        (found.left, "begun or closed, and left as they are"),
        (() if written.pruned else found.gone, "no longer in the spec; to close them: --prune"),
        (found.gone_begun, "no longer in the spec, but begun; left alone"),
    ):
        if keys:
            named = _listed([f"{key} ({written.ids[key]})" for key in keys])
            yield folded(f"{len(keys)} {words}: {named}", 2)
    if work:
        yield f"See them: fleet bd children {epic}. To work on them: fleet run"


def _listed(keys: Sequence[str]) -> str:
    return some([*map(one_line, keys)], _MOST)
