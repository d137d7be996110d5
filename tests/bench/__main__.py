"""Print every figure beside its goal. Speed is shown, not asserted: this always ends with 0.

python -m tests.bench [module…]
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

from rich.console import Console
from rich.table import Table

import tests.bench as benches


def chosen(names: list[str]) -> Iterator[ModuleType]:
    """The modules that give figures; others of this folder are programs of their own."""
    for found in pkgutil.iter_modules(benches.__path__):
        if found.name != "__main__" and (not names or found.name in names):
            module = importlib.import_module(f"tests.bench.{found.name}")
            if hasattr(module, "figures"):
                yield module


def main(names: list[str]) -> None:
    table = Table("figure", "value", "goal", "", "measured")
    short: list[str] = []
    for module in chosen(names):
        for figure in module.figures():
            sign = "≤" if figure.at_most else "≥"
            verdict = "holds" if figure.holds else "FALLS SHORT"
            table.add_row(
                figure.name, f"{figure.value:.2f}", f"{sign} {figure.goal}", verdict, figure.detail
            )
            short += [] if figure.holds else [figure.name]
    console = Console(width=120)
    console.print(table)
    console.print(f"Short of the goal: {', '.join(short)}" if short else "Every goal is met.")


if __name__ == "__main__":
    main(sys.argv[1:])
