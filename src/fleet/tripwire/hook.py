"""The tripwire as a hook: `python -m fleet.tripwire.hook`, asked by a CLI before a command.

The question comes as JSON on stdin; a refusal goes to stdout, and silence lets the command run.
Whatever goes wrong here lets it run too: a tripwire is not a fence.
"""

import json
import sys

from fleet.tripwire.rules import trips


def answer(asked: str) -> str:
    """The refusal of a command that destroys too much; empty if it may run."""
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
