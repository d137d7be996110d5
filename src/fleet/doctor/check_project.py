"""Projects: whether the one here has a verify command, or one to propose; whether this git can land
work, and whether the branches are there that work is to land on.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from fleet.coders.agent_environment import plain_env
from fleet.config import Config, Project
from fleet.doctor.check_result import CheckResult, Installation
from fleet.errors import FleetError
from fleet.evidence.propose_verify import propose
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.land.land_repository import is_new_enough
from fleet.git.refs import commit_of
from fleet.home import landing_json
from fleet.processes.bounded_call import call
from fleet.schemas.policy import BRANCH_OF_TASK

_PATIENCE = 5.0
_WORDS = {
    "branch": "work stays in its directory, or on fleet/<id> (work_in, land)",
    "ask": "ask: accepted work lands once you approve it (fleet land)",
    "auto": "auto: accepted work lands on its task's branch, here alone; nothing is pushed",
}
_TO = {"push": "accepted work is pushed too (land_to = push)", "pr": "as pull requests"}


def verify(installation: Installation) -> Iterator[CheckResult]:
    """Nothing is said in a directory whose files name no tests."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return
    proposal = propose(here)
    if installation.config is None or proposal is None:
        return
    known = installation.config.project(str(here)).verify
    if known:
        yield CheckResult("verify", "ok", f"tasks here are checked with: {'; '.join(known)}")
        return
    what = "no verify command for tasks here: their work stays unchecked"
    changes = (f"verify={proposal.command}", *(f"share+={path}" for path in proposal.share))
    line = " ".join(map(quote, changes))
    fix = f"By its {proposal.found_in}: fleet config set --project . {line}"
    yield CheckResult("verify", "ok", what, fix)


def landing(installation: Installation) -> Iterator[CheckResult]:
    """Nothing is asked of git where nothing lands."""
    config = installation.config
    if config is None:
        return
    places = _places(config)
    usual = _mode(config, Project(path=""))
    if usual == "branch" and not any(mode != "branch" for mode, _, _ in places):
        yield CheckResult("landing", "ok", _WORDS["branch"])
        return
    path = shutil.which("git", path=installation.env.get("PATH"))
    said = (
        call([path, "version"], env=plain_env(installation.env), timeout=_PATIENCE).text
        if path
        else ""
    )
    if not is_new_enough(said):
        what = f"landing needs git 2.38 or later, and here is {said.strip() or 'none'}"
        fix = "Install a newer git, or leave work on its own branch: fleet config set land=branch"
        yield CheckResult("landing", "error", what, fix)
        return
    yield CheckResult("landing", "ok", _words(usual, config.land_to))
    yield from _here(config)
    for mode, place, branch in places:
        if mode != "branch" and branch != BRANCH_OF_TASK and not _has(place, branch):
            fix = f"Make it, or name another: fleet config set --project {place} land_into=BRANCH"
            yield CheckResult("landing", "error", f"{place} has no branch {branch}", fix)
    yield from _without_branch(installation)


def _words(mode: str, land_to: str) -> str:
    to = f"; {_TO[land_to]}" if mode != "branch" and land_to in _TO else ""
    return f"{_WORDS[mode].removesuffix('; nothing is pushed') if to else _WORDS[mode]}{to}"


def _mode(config: Config, project: Project) -> str:
    """What becomes of a project's finished work: `branch` where nothing lands."""
    in_directory = project.settings.get("work_in", config.work_in) == "directory"
    return "branch" if in_directory else str(project.settings.get("land", config.land))


def _here(config: Config) -> Iterator[CheckResult]:
    """What differs in the project that doctor is called in."""
    try:
        project = config.project(str(Path.cwd()))
    except FileNotFoundError:
        return
    mode = _mode(config, project)
    to = str(project.settings.get("land_to", config.land_to))
    if (mode, to) != (_mode(config, Project(path="")), config.land_to):
        yield CheckResult("landing", "ok", f"here, {project.path}: {_words(mode, to)}")


def _places(config: Config) -> list[tuple[str, str, str]]:
    """Each project in git, with the mode and the branch in the settings."""
    return [
        (
            _mode(config, project),
            path,
            str(project.settings.get("land_into", config.land_into)),
        )
        for path, project in config.projects.items()
        if repository.find(path) is not None
    ]


def _without_branch(installation: Installation) -> Iterator[CheckResult]:
    """Work that waits for a branch which is not there."""
    gone: dict[tuple[str, str], list[str]] = {}
    for task_id in landing_json.unlanded(installation.home):
        found = landing_json.read(installation.home, task_id)
        if found is None or found.state in ("landed", "back") or not found.into:
            continue
        if Path(found.repository).is_dir() and not _has(found.repository, found.into):
            gone.setdefault((found.repository, found.into), []).append(task_id)
    for (place, branch), ids in gone.items():
        what = f"{', '.join(sorted(ids))} wait for the branch {branch}, which {place} has not"
        yield CheckResult(
            "landing", "warning", what, f"Make it again: git -C {place} branch {branch} COMMIT"
        )


def _has(place: str, branch: str) -> bool:
    repo = repository.find(place)
    if repo is None:
        return False
    try:
        return bool(commit_of(Git(repo, time.monotonic() + _PATIENCE), f"refs/heads/{branch}"))
    except FleetError:
        return False
