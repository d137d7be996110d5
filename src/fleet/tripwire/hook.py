"""The tripwire as a hook: a CLI runs `python -m fleet.tripwire.hook` before each command.

The hook reads JSON on stdin and prints a refusal, or nothing to let the command run. An error in
the hook lets the command run too.
"""

import json
import sys

from fleet.tripwire.rules import trips


def answer(asked: str) -> str:
    """The refusal of a command that destroys too much; empty: the command may run."""
    question = json.loads(asked)
    command = question.get("tool_input", {}).get("command")
    if not isinstance(command, str):
        return ""
    met = [trip for trip in trips(command, str(question.get("cwd") or "/")) if trip.grade == "high"]
    if not met:
        return ""
    what = "; ".join(f"`{trip.command}` {trip.what} ({trip.rule})" for trip in met[:3])
    reason = (
        f"Refused by fleet's tripwire: {what}. Do it in a way that touches only what this task"
        " needs, or ask the person who runs it, as your rules say."
    )
    decision = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }
    return json.dumps({"hookSpecificOutput": decision})


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))
