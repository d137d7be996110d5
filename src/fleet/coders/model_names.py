"""Which coder a model name belongs to: one configured model serves all coders, and means something
to one of them. Fleet's own coders are described here, so that naming a model imports no coder.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

CLAUDE = ("sonnet*", "opus*", "haiku*", "fable*", "claude-*")
OPENAI = ("gpt-[0-9]*", "o[0-9]*", "codex-*")
GOOGLE = ("gemini*",)


class CoderModels(NamedTuple):
    """The model that a coder takes by default (empty: the CLI chooses), and other
    coders' models.
    """

    default: str
    foreign: tuple[str, ...]

    def inherit(self, model: str) -> str:
        """The model of a run that did not choose `model`."""
        return self.default if not model or is_one_of(model, self.foreign) else model


BUILT_IN: Mapping[str, CoderModels] = {
    "claude": CoderModels("sonnet", (*OPENAI, *GOOGLE)),
    "codex": CoderModels("o4-mini", (*CLAUDE, *GOOGLE)),
    "agy": CoderModels("", CLAUDE),
}


@lru_cache(maxsize=64)  # each task of a list asks for the same model
def is_one_of(model: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(model.lower(), pattern) for pattern in patterns)
