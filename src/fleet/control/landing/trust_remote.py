"""`fleet trust --remote`: let fleet push a project to where its branches lead now."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from fleet.control import Control
from fleet.control.landing.only_people import refuse_agents
from fleet.errors import BadInput
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream, upstream_of
from fleet.home.task_policy import policy_of
from fleet.schemas import Settings

_LIMIT = 30.0


def trust_upstream(fleet: Control, directory: str, env: Mapping[str, str] = os.environ) -> Upstream:
    """Trust the address that the branch which work lands on is pushed to. Raises FleetError."""
    refuse_agents(env, "say where fleet pushes to")
    repo = repository.find(directory)
    if repo is None:
        raise BadInput(f"{directory} is in no git repository")
    branch = _branch(fleet, directory) or repository.checked_out_branch(repo)
    if not branch:
        raise BadInput(
            f"{directory} has no branch checked out, so that there is no telling its remote",
            hint="Check one out, or set land_into: fleet config set --project . land_into=main",
        )
    found = upstream_of(Git(repo, time.monotonic() + _LIMIT), branch)
    trust_remote(fleet.home.path, os.path.realpath(repo.common_dir), found, datetime.now(UTC))
    return found


def _branch(fleet: Control, directory: str) -> str:
    """The branch that the settings name; empty: it is that of each task."""
    return policy_of(fleet.config, Settings(cwd=directory), directory).policy.land.into
