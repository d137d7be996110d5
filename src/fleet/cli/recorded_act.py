"""An act of a person on the command line, with its line in the audit."""

import sys
from collections.abc import Callable, Sequence
from typing import Any


def recorded(verb: str, args: Sequence[str], work: Callable[[], Any]) -> Any:
    """Do the work of a command line and record how it ended. Warns if it cannot be recorded."""
    from fleet.control.acts.audit_log import recorded_line

    answer, unrecorded = recorded_line(verb, args, work)
    if unrecorded:
        print(f"Warning: {unrecorded}", file=sys.stderr)
    return answer
