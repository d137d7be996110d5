"""What an agent said of its own task through `bd`: `runs/<n>/said.json`.

It is a claim, and only evidence. The agent's `bd close` lands here instead of in the queue, and
the supervisor decides what becomes of it.
"""

from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord

FILE = "said.json"


class AgentClaim(Struct, frozen=True, kw_only=True):
    """The last word of the agent; saying one thing takes back the other."""

    #: The reason that it gave with `close`; None: it never closed.
    done: str | None = None
    #: The notes that it blocked the task with; None: it did not.
    blocked: str | None = None
    #: The mark of the run that said it.
    by: str = ""


_RECORD = JsonRecord(AgentClaim)


def record(run_dir: Path, said: AgentClaim) -> None:
    _RECORD.write(run_dir / FILE, said)


def read(run_dir: Path, by: str | None = None) -> AgentClaim:
    """The agent's claim; an empty one if there is no file, a damaged one, or a claim of another
    run than `by`.
    """
    said = _RECORD.read_or_none(run_dir / FILE) or AgentClaim()
    return said if by is None or said.by == by else AgentClaim()
