"""Print every figure beside its goal. Speed is shown, not asserted: a figure that falls short
fails nothing.

python -m tests.bench [part…]
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import tests.bench as benches
from tests.bench import Figure


def parts() -> Iterator[str]:
    """The modules that give figures; the others of this folder are programs of their own."""
    for module in pkgutil.iter_modules(benches.__path__):
        if module.name != "__main__":
            loaded = importlib.import_module(f"tests.bench.{module.name}")
            if hasattr(loaded, "figures"):
                yield module.name


def line(figure: Figure) -> str:
    goal = f"{'≤' if figure.at_most else '≥'} {figure.goal:g}"
    verdict = "reached" if figure.holds else "NOT REACHED"
    return f"{figure.name:<44} {figure.value:>8.2f}   {goal:<7} {verdict:<12} {figure.detail}"


def main(names: list[str]) -> str:
    """Print each figure as soon as it is measured; the answer is what to complain of."""
    known = list(parts())
    if unknown := sorted(set(names) - set(known)):
        return f"no such part: {', '.join(unknown)}; there is {', '.join(known)}"
    print(f"{'figure':<44} {'value':>8}   {'goal':<7} {'':<12} measured")
    short: list[str] = []
    for name in names or known:
        for figure in importlib.import_module(f"tests.bench.{name}").figures():
            print(line(figure).rstrip(), flush=True)
            short += [] if figure.holds else [figure.name]
    print(f"Not reached: {', '.join(short)}" if short else "Every goal is reached.")
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
