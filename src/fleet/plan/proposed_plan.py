"""The plan that an agent wrote, `artifacts/PLAN.toml`: read as any other, and never followed."""

from pathlib import Path

from fleet.errors import BadInput
from fleet.files.safe_read import read_bounded
from fleet.plan.check_plan import check_plan
from fleet.plan.find_spec import LARGEST, decoded
from fleet.plan.neutral_plan import Plan
from fleet.plan.readers.neutral import read_neutral
from fleet.plan.spec_files import SpecFile, SpecText
from fleet.schemas.policy import PLAN_FILE


def read_proposed_plan(task_dir: Path, *, limit: int) -> Plan:
    """The plan among a task's artifacts. Raises BadInput or InvalidTask with file and line."""
    data = read_bounded(task_dir / "artifacts" / PLAN_FILE, LARGEST)
    if not data:
        raise BadInput(f"there is no {PLAN_FILE} among the artifacts")
    file = SpecFile(name=PLAN_FILE, text=decoded(data, PLAN_FILE))
    plan = read_neutral(SpecText(title="", files=(file,)))
    if not plan.title.strip():
        raise BadInput(f"{PLAN_FILE}:1: the plan has no title")
    return check_plan(plan, limit=limit, name=PLAN_FILE)
