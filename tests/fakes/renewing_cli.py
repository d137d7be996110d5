"""Stands in for claude where it renews its login: at a vendor in a directory, with refresh tokens
that are spent once, and one gate for each step.

The vendor is `$HOME/vendor`: `token` is the refresh token that is good, `calls` has a line a call.
At a gate `NAME.gate` the CLI makes `NAME.here` and waits until the gate is gone.
"""

import json
import os
import sys
import time
from pathlib import Path

vendor = Path(os.environ["HOME"]) / "vendor"
file = Path(os.environ["CLAUDE_CONFIG_DIR"]) / ".credentials.json"


def reach(step):
    gate = vendor / f"{step}.gate"
    if gate.exists():
        (vendor / f"{step}.here").touch()
    while gate.exists():
        time.sleep(0.005)


words = " ".join(sys.argv[1:])
with (vendor / "commands").open("a") as out:
    out.write(f"{words} in {Path.cwd()} {len(list(Path().iterdir()))}\n")
if (vendor / "lazy").exists() and words == "auth status":
    sys.exit(0)
reach("asking")
login = json.loads(file.read_text())
sent = login["claudeAiOauth"]["refreshToken"]
good = sent == (vendor / "token").read_text()
with (vendor / "calls").open("a") as out:
    out.write(f"{sent} {good}\n")
if not good:
    print("OAuth session expired and could not be refreshed")
    sys.exit(1)
number = int(sent.rpartition("-")[2]) + 1
(vendor / "token").write_text(f"refresh-{number}")
reach("answered")
login["claudeAiOauth"] |= {
    "accessToken": f"access-{number}", "refreshToken": f"refresh-{number}",
    "expiresAt": int((time.time() + 3600) * 1000),
}  # fmt: skip
fresh = file.with_suffix(".new")
fresh.write_text(json.dumps(login))
reach("writing")
fresh.replace(file)
print("x" * 100_000)  # a program that dies of a closed pipe would die here
reach("written")
