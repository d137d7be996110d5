"""Whose a model name is. One configured model serves all coders, and means something to one."""

from fnmatch import fnmatchcase

CLAUDE = ("sonnet*", "opus*", "haiku*", "fable*", "claude-*")
OPENAI = ("gpt-[0-9]*", "o[0-9]*", "codex-*")
GOOGLE = ("gemini*",)


def is_one_of(model: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(model.lower(), pattern) for pattern in patterns)
