"""What a command line of an agent says of the agent's own task: the claim to record, and the
answer. Pure.

`close`, and `update` of the status, are claims. The supervisor decides once the run has ended.
"""

from collections.abc import Callable

import msgspec

from fleet.bd.pflag import Parsed
from fleet.errors import BadInput, Refused
from fleet.runs.agent_claim import AgentClaim
from fleet.spool.agent_rights import AllowedLine

_STATUS_OF = {"close": "closed", "done": "closed", "reopen": "open"}
_REASONS = ("reason", "resolution", "message", "comment")


def claim_of(
    asked: AllowedLine, task: str, read_file: Callable[[str], str]
) -> tuple[AgentClaim, str]:
    """The claim on a line of the kind `claim`, and what to print. Raises Refused for a status that
    is no claim.
    """
    line = asked.line
    status = _STATUS_OF.get(asked.name, line.text("status") or "in_progress")
    notes = line.text("notes") or line.text("append-notes")
    match status:
        case "closed":
            said = AgentClaim(done=_reason(line, notes, read_file) or "Closed")
            text = f"Closed {task}: recorded. fleet checks the work once this run has ended."
        case "blocked":
            said = AgentClaim(blocked=notes)
            text = f"Updated {task}: recorded as blocked. Now end this run."
        case "open" | "in_progress":
            if notes:
                raise BadInput(
                    f"{task} is claimed by this run already; its notes were not changed",
                    hint="Write the notes by themselves, without --status and --claim.",
                )
            said = AgentClaim()
            text = f"Updated {task}: this run has it; no completion is claimed."
        case _:
            raise Refused(
                f"an agent cannot put its task to {status}",
                hint=f'Close it (bd close {task} --reason "…"), or ask a person:'
                f' bd update {task} --status blocked --notes "QUESTION: …"',
            )
    if line.switch("json"):
        shape = [{"id": task, "status": status, "note": text}]
        text = msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()
    return said, f"{text}\n"


def _reason(line: Parsed, notes: str, read_file: Callable[[str], str]) -> str:
    given = [text for flag in _REASONS for text in line.list(flag)]
    if line.has("reason-file"):
        given.append(read_file(line.text("reason-file")))
    given += line.words[1:]
    return " ".join(filter(None, given or (notes,)))
