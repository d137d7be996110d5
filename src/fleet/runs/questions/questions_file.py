"""`artifacts/Q&A.md`: an agent's questions (`## Q:`) and a person's answers (`## A:`).

The agent writes the file, so its text is shown and handed on, never obeyed.
"""

import re
from datetime import datetime
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.files.append_file import append
from fleet.files.safe_read import check_directory, read_bounded

FILE = Path("artifacts") / "Q&A.md"
LARGEST = 4 << 20
_HEADING = re.compile(r"^##\s*(Q|A)\b:?[ \t]*(.*)$", re.MULTILINE)


def read(task_dir: Path) -> str:
    """The text; empty if there is none, or a link or a pipe in the file's place."""
    try:
        data = read_bounded(task_dir / FILE, LARGEST)
    except InvalidTask:
        return ""
    return (data or b"").decode(errors="replace")


def add_block(task_dir: Path, block: str) -> None:
    """Add a block at the end of the file, behind an empty line, and sync the file. Raises
    InvalidTask and OSError.
    """
    path = task_dir / FILE
    if not check_directory(path.parent):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = read_bounded(path, LARGEST) or b""
    gap = "" if not before else "\n" if before.endswith(b"\n") else "\n\n"
    append(path, f"{gap}{block}".encode(errors="replace"), durable=True)


def add_answer(task_dir: Path, text: str, at: datetime) -> None:
    """Add a person's answer, where the agent and the task's next run find it."""
    add_block(task_dir, f"## A: {at:%Y-%m-%d %H:%M}\n\n{text}\n")


def open_question(text: str) -> str:
    """The last `## Q:` block, if no `## A:` block follows. Pure."""
    kind, head, body = _last_block(text)
    return f"{head}\n\n{body}".strip() if kind == "Q" else ""


def last_answer(text: str) -> str:
    """The last `## A:` block without the heading, if no `## Q:` block follows. Pure."""
    kind, _, body = _last_block(text)
    return body if kind == "A" else ""


def blocks(text: str) -> list[tuple[str, str, str]]:
    """The kind (`Q` or `A`), the heading and the body of each block, in their order. Pure."""
    _, *parts = _HEADING.split(text)
    threes = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [(kind, head.strip(), body.strip()) for kind, head, body in threes]


def _last_block(text: str) -> tuple[str, str, str]:
    found = blocks(text)
    return found[-1] if found else ("", "", "")
