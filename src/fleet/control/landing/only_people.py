"""What only a person may do is refused to a process that bears the mark of a run."""

from collections.abc import Mapping

from fleet.errors import Refused
from fleet.processes.process_identity import MARK


def refuse_agents(env: Mapping[str, str], what: str) -> None:
    """Raise Refused inside a run: an agent would judge the agent's own work."""
    if env.get(MARK):
        raise Refused(
            f"an agent cannot {what}",
            hint="A person does that, outside of any run.",
        )
