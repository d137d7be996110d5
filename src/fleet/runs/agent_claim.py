"""What an agent claimed about the agent's task through `bd`: `runs/<n>/said.json`.

A claim is only evidence. The agent's `bd close` writes this file instead of the queue, and the
supervisor decides what becomes of the task.
"""

from pathlib import Path

from msgspec import Struct

from fleet.files.seals import SealedRecord
from fleet.runs.run_directory import Run

FILE = "said.json"


class AgentClaim(Struct, frozen=True, kw_only=True):
    """The agent's last claim; claiming one thing takes back the other."""

    #: The reason that the agent gave with `close`; None: it did not close the task.
    done: str | None = None
    #: The notes that the agent blocked the task with; None: it did not.
    blocked: str | None = None
    #: The id of the run that made the claim.
    by: str = ""


_RECORD = SealedRecord(FILE, AgentClaim)


def record(run_dir: Path, said: AgentClaim) -> None:
    _RECORD.write(run_dir, said, Run(run_dir).number)


def read(run_dir: Path, by: str | None = None) -> AgentClaim:
    """The agent's claim; an empty one if there is no file, a damaged one, one that fleet did not
    write, or a claim of another run than `by`.
    """
    said = _RECORD.believed(run_dir, Run(run_dir).number) or AgentClaim()
    return said if by is None or said.by == by else AgentClaim()
