"""Writes a person's answer where the agent, and the task's next run, find the answer."""

from datetime import datetime
from pathlib import Path

from fleet.runs.questions import asked_json, questions_file


def record_answer(task_dir: Path, question_id: str, text: str, *, by: str, at: datetime) -> str:
    """Record the answer to a question of `ask_human`: the first one counts, and is returned."""
    given = asked_json.answer(task_dir, question_id, text, by=by, at=at).answer or ""
    write_down(task_dir, given, at)
    return given


def write_down(task_dir: Path, text: str, at: datetime) -> None:
    """Add an answer to Q&A.md."""
    questions_file.add_block(task_dir, f"## A: {at:%Y-%m-%d %H:%M}\n\n{text}\n")
