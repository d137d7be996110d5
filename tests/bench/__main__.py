"""Print every figure beside its goal. Speed is shown, not asserted: this always ends with 0."""

import importlib
import pkgutil

from rich.console import Console
from rich.table import Table

import tests.bench as benches


def main() -> None:
    table = Table("figure", "value", "goal", "", "measured")
    short: list[str] = []
    for module in pkgutil.iter_modules(benches.__path__):
        if module.name == "__main__":
            continue
        for figure in importlib.import_module(f"tests.bench.{module.name}").figures():
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
    main()
