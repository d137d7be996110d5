"""Coders: how to drive one agent CLI each."""

from pathlib import Path


def names(home: Path | None = None) -> tuple[str, ...]:
    del home
    return ("claude", "agy", "codex")
