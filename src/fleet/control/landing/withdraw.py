"""Takes work from the lander that is to be changed: what an agent goes on with must not land."""

from datetime import UTC, datetime

from msgspec import structs

from fleet.control import Control
from fleet.errors import Refused
from fleet.home import landing_json
from fleet.home.landing_json import Landing


def withdraw(fleet: Control, task_id: str, *, afresh: bool = False) -> None:
    """Keep work from landing as it is, and count its tries anew. Raises Refused if it lands now.

    What was in its way stays on record, so that its agent is told; `afresh`: nothing of it does.
    """
    landing = landing_json.read(fleet.home, task_id)
    if landing is None or landing.state == "landed" or (landing.state == "back" and not afresh):
        return
    if landing_json.doubt(fleet.home, task_id):
        return  # what is not as fleet wrote it does not land

    def back(now: Landing) -> Landing | None:
        if now.state in ("testing", "landed"):
            return None
        kept = now.why_back if now.state == "asks" and not afresh else None
        return structs.replace(
            now,
            state="back",
            why=now.why if kept else "",  # how to land what does not land now misleads
            why_back=kept or "review",
            merge=None,
            tries=0,
            refusals=0,
            approved_by="",
            at=datetime.now(UTC),
        )

    if landing_json.change(fleet.home, task_id, back) is None:
        raise Refused(
            f"{task_id} is landing on {landing.into} right now",
            hint="Give the same command again in a moment: fleet land says how far it is.",
        )
