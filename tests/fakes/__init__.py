"""Programs that stand in for what cannot be had: put this directory first on a PATH."""

import py_compile
import subprocess
import sys
from functools import cache
from pathlib import Path

FAKES = Path(__file__).parent


@cache
def compiled(program: Path) -> str:
    """What to start in a program's place: Python compiles a program anew on each start, and tests
    start some of them thousands of times.
    """
    return py_compile.compile(str(program), doraise=True) or str(program)


def run_agy(scenario: str, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The stand-in, to its end."""
    return subprocess.run(
        [sys.executable, str(FAKES / "agy"), *argv],
        env={"FAKE_AGY": scenario, "PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
