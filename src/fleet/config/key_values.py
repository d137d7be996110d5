"""The value of every key of runtime.toml, with the default of each: the one place where it stands.

`keys` says what else may be written for a key, and what the key is for.
"""

from msgspec import Struct

from fleet.schemas import Context, Isolation, SandboxLevel, Tripwire
from fleet.schemas.budget import NONE
from fleet.schemas.policy import (
    BRANCH_OF_TASK,
    LandHow,
    LandMode,
    LandTo,
    Permissions,
    Requirement,
    VerifyIn,
)


class KeyValues(Struct, frozen=True, kw_only=True):
    """One field a key, in the order of the file."""

    max_concurrent: int = 3
    coder: str = "claude"
    model: str = "sonnet"
    context_pressure_threshold_pct: int = 90
    permissions: Permissions = "edit"
    expect: str = "any"
    require: Requirement = "plausible"
    isolation: Isolation = "none"
    verify_in: VerifyIn = "checkout"
    land: LandMode = "off"
    land_into: str = BRANCH_OF_TASK
    land_how: LandHow = "merge"
    land_to: LandTo = "branch"
    land_batch: int = 4
    land_tries: int = 3
    forge: str = "auto"
    forge_token: str = NONE
    sandbox: SandboxLevel = "off"
    context: Context = "full"
    tripwire: Tripwire = "report"
    retry_limit: int = 3
    retry_wait_s: int = 10
    grace_s: int = 10
    start_limit: str = "2m"
    idle_limit: str = "7m"
    time_limit: str = "4h"
    turn_limit: int = 300
    token_limit: int = 100_000_000
    cost_limit: str = "$50"
    output_limit: str = "1GB"
    workspace_limit: str = "50GB"
    memory_limit: str = "8GB"
    process_limit: int = 1000
    task_budget: str = "none"
    day_budget: str = "none"
    verify_limit: str = "15m"
    stop_at: int = 100
    fallback: str = "none"
    pass_env: str = NONE
    queue: str = "embedded"
    host_name: str = "auto"
    host_labels: str = "none"
    lease_s: int = 180
    repository: str = "origin"
    run_files_limit: str = "32MB"
    store: str = "none"
    busy_timeout_s: int = 5
    bd_timeout_s: int = 30
    followup_limit: int = 20
    followup_depth: int = 3
    followups: str = "proposed"
    ask_wait: str = "100s"
    agent_tools: str = "on"
    plan_limit: int = 100
