"""The docstrings of the program, read once for all tests that hold them to something."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src"


class Docstring(NamedTuple):
    path: Path
    of_module: bool
    text: str


@cache
def docstrings() -> list[Docstring]:
    """Each docstring; a module's is the first of its file."""
    return [
        Docstring(path, isinstance(node, ast.Module), text)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if (text := ast.get_docstring(node))
    ]
