"""What an agent is told: the templates, the task, and how the last run ended."""

from functools import cache
from pathlib import Path

from fleet.schemas import Task

TEMPLATES = Path(__file__).parent.parent / "templates"

#: The kernel takes at most 128 KiB as one argument; the rest of a prompt needs room beside this.
ARGUMENT_CAP = 100_000

_RESUMED = """\
You are carried on in the same session: fleet task {task_id}. {last_ending}
{cut_off}
Look at the state of things and at Q&A.md in {artifacts_dir}, then carry on. The rules are the \
same: when the task is done, `bd close {task_id} --reason "…"`; when only a person can decide, \
a `## Q:` block in Q&A.md and `bd update {task_id} --status blocked --notes "QUESTION: …"`; \
then exit.
"""


_MESSAGES = "## What the person who runs this task said to its agents"


def fresh(
    task: Task, task_dir: Path, *, last_ending: str, cap: int | None, messages: str = ""
) -> str:
    """The prompt that starts a session."""
    header = _read("coder_header.md.tmpl").format(
        task_id=task.id,
        task_title=task.title,
        task_description=_fitted(task, cap),
        task_dir=task_dir,
        artifacts_dir=task_dir / "artifacts",
        invocation_line=f"Invocation directory: {task.cwd}" if task.cwd else "",
    )
    parts = [header.strip(), "---", _instructions(task, task_dir)]
    if messages:
        parts.insert(1, f"{_MESSAGES}\n\n{messages}")
    if last_ending:
        parts.insert(1, f"## How the last run ended\n\n{last_ending}")
    return "\n\n".join(parts)


def _instructions(task: Task, task_dir: Path) -> str:
    """The rules with the real path and id: a CLI that asks before running a command refuses one
    with a variable.
    """
    named = {"$FLEET_ARTIFACT_DIR": str(task_dir / "artifacts"), "<task id>": task.id}
    text = _read("INSTRUCTION.md").strip()
    for name, value in named.items():
        text = text.replace(name, value)
    return text


_CUT_OFF = "What was running when the last run ended was cut off, and may have done half its work"


def resumed(
    task: Task,
    task_dir: Path,
    *,
    last_ending: str,
    cut_off: tuple[str, ...] | None = (),
    messages: str = "",
) -> str:
    """The prompt that carries a session on, which has the first prompt in memory.

    `cut_off` are the calls that never had a result, named since a CLI may drop them from the
    session's memory; None: the last run ended by itself.
    """
    calls = "".join(f"\n- {call}" for call in cut_off or ())
    words = _RESUMED.format(
        task_id=task.id,
        artifacts_dir=task_dir / "artifacts",
        last_ending=last_ending,
        cut_off="" if cut_off is None else f"{_CUT_OFF}:{calls}" if calls else f"{_CUT_OFF}.",
    )
    return f"{words}\n{_MESSAGES}\n\n{messages}\n" if messages else words


def _fitted(task: Task, cap: int | None) -> str:
    words = task.description
    if cap is None or len(words.encode("utf-8", "replace")) <= cap:
        return words
    start = words.encode("utf-8", "replace")[:cap].decode("utf-8", "ignore")
    return f"{start}…\n\n(Cut here. `bd show {task.id}` prints the whole description.)"


@cache
def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
