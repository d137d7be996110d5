"""Directories that are made once and put back for each test that wants them.

To make a task with a clone takes a hundred starts of git, to copy it one start of cp. Fleet's
records hold absolute paths: so a test finds what was made where it was made.
"""

import copy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Restored:
    """By the function that makes it: a directory, and what that function returned."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: dict[Callable[[Path], Any], Any] = {}

    def __call__(self, make: Callable[[Path], Any]) -> Any:
        """What `make` made of an empty directory, as it was then."""
        if make not in self._made:
            place = self._place(make)
            place.mkdir()
            self._made[make] = make(place)
            _copy(place, self._kept(make))
        else:
            shutil.rmtree(self._place(make))
            _copy(self._kept(make), self._place(make))
        return copy.deepcopy(self._made[make])

    def _place(self, make: Callable[[Path], Any]) -> Path:
        return self._root / f"{make.__module__}.{make.__name__}"

    def _kept(self, make: Callable[[Path], Any]) -> Path:
        return self._place(make).with_name(f"{make.__module__}.{make.__name__} as made")


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-Rp", source, target], check=True)
