"""Programs that stand in for what cannot be had: put this directory first on a PATH."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run_agy(scenario: str, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The stand-in, to its end."""
    return subprocess.run(
        [sys.executable, str(HERE / "agy"), *argv],
        env={"FAKE_AGY": scenario, "PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
