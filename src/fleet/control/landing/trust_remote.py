"""`fleet trust --remote`: let fleet push a project to where the branches lead now."""

import os
import time
from datetime import UTC, datetime

from fleet.config.projects import is_address
from fleet.control import Control, refuse_agents
from fleet.control.task_directory import checked_directory
from fleet.errors import BadInput
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream, plain_address, upstream_of
from fleet.home import owner_file
from fleet.home.task_policy import policy_of
from fleet.schemas import Settings

_LIMIT = 30.0


def trust_upstream(fleet: Control, directory: str) -> Upstream:
    """Trust the address that the branch which work lands on is pushed to. Raises FleetError."""
    refuse_agents(fleet.env, "say where fleet pushes to")
    if is_address(directory) or repository.is_bare(directory):
        return _trust_address(fleet, directory)
    directory = checked_directory(directory, "--remote")
    repo = repository.find(directory)
    if repo is None:
        raise BadInput(
            f"{directory} is in no git repository",
            hint="Name the project's directory, or the address of a repository.",
        )
    branch = _branch(fleet, directory) or repository.checked_out_branch(repo)
    if not branch:
        raise BadInput(
            f"{directory} has no branch checked out, so that there is no telling its remote",
            hint="Check one out, or set land_into: fleet config set --project . land_into=main",
        )
    found = upstream_of(Git(repo, time.monotonic() + _LIMIT), branch)
    trust_remote(fleet.home.path, os.path.realpath(repo.common_dir), found, datetime.now(UTC))
    return found


def _trust_address(fleet: Control, text: str) -> Upstream:
    """Trust a repository whose project is on other hosts: fleet fetches from there and pushes what
    runs leave. Raises BadInput.
    """
    url = plain_address(text, os.getcwd())  # noqa: PTH109
    if not url:
        raise BadInput(
            f"{text!r} is no address that git itself can fetch from",
            hint="Write it like https://host/path.git, git@host:path.git or /path/to/repository.",
        )
    found = Upstream(remote="origin", url=url, branch="")
    common = os.path.realpath(fleet.home.mirror(url) / ".git")
    trust_remote(fleet.home.path, common, found, datetime.now(UTC))
    if fleet.is_shared:
        from fleet.queue.sql.hosts.host_table import ask_again

        ask_again(fleet.tracker, owner_file.read(fleet.home))
    return found


def _branch(fleet: Control, directory: str) -> str:
    """The branch that the settings name; empty: each task's own branch counts."""
    return policy_of(fleet.config, Settings(cwd=directory), directory).policy.land.into
