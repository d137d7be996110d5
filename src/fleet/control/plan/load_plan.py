"""Reads the plan that a person names: a spec on disk, checked, with the project."""

import time
from pathlib import Path

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.task_directory import branch_at, checked_directory, current_directory, plain_path
from fleet.errors import BadInput
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.repository import GitFailed
from fleet.git.tree_snapshot import uncommitted
from fleet.plan.check_plan import check_plan
from fleet.plan.find_spec import find_spec, read_plan, shown_path
from fleet.plan.neutral_plan import Plan
from fleet.plan.plan_drafts import PlannedDraft, PlanPlace, drafts_of

#: Seconds that git may take to compare the project with its last commit.
_LIMIT = 10.0


class LoadedPlan(Struct, frozen=True, kw_only=True):
    """A checked plan, and the tasks that would be made."""

    plan: Plan
    format: str
    place: PlanPlace
    drafts: tuple[PlannedDraft, ...]
    #: Files of the spec that git has not committed as they are: a clone lacks them.
    uncommitted: tuple[str, ...] = ()

    @property
    def done(self) -> frozenset[str]:
        """The keys that are ticked in the spec."""
        return frozenset(task.key for task in self.plan.tasks if task.done)


def load_spec(
    fleet: Control, path: str, *, cwd: str | None = None, format_: str = "", tag: str = ""
) -> LoadedPlan:
    """The plan in a spec. Raises BadInput with file and line."""
    if not path.strip() or "\0" in path:
        raise BadInput("no spec is named", hint="Name a file, or the directory of a spec.")
    full = plain_path(path)
    base = _directory(cwd) if cwd else project_of(full)
    spec = find_spec(full, base=Path(base), format_=format_, tag=tag)
    named = shown_path(spec.path, Path(base)).replace("#", "_")  # its tasks go on with `#`
    plan = read_plan(spec)
    found = loaded(
        fleet, plan, spec=f"{named}@{tag}" if tag else named, cwd=base, format_=spec.format
    )
    return structs.replace(found, uncommitted=_uncommitted(full, base))


def _uncommitted(spec: Path, cwd: str) -> tuple[str, ...]:
    """The files at a path that differ from the last commit of the project, or are new."""
    repo = repository.find(cwd)
    if repo is None:
        return ()
    below = shown_path(spec, Path(repo.root))
    try:
        names = uncommitted(Git(repo, time.monotonic() + _LIMIT), "HEAD")
    except GitFailed:  # no commit yet, or git is not there
        return ()
    found = sorted(repository.shown(name) for name in names)
    return tuple(name for name in found if Path(name).is_relative_to(below) or below == ".")


def loaded(
    fleet: Control, plan: Plan, *, spec: str, cwd: str, format_: str, is_file: bool = True
) -> LoadedPlan:
    """A plan with the tasks that would be made in a directory. Raises BadInput if it cannot be
    applied.
    """
    check_plan(plan, limit=fleet.config.plan_limit, name=spec)
    for task in plan.tasks:
        if task.coder is not None:
            fleet.check_coder(task.coder)
    verify = fleet.config.project(cwd).verify
    branch = branch_at(cwd)
    place = PlanPlace(spec=spec, cwd=cwd, branch=branch, verify=verify, is_file=is_file)
    drafts = tuple(drafts_of(plan, place))
    return LoadedPlan(plan=plan, format=format_, place=place, drafts=drafts)


def project_of(path: Path) -> str:
    """The top of the repository that a spec lies in; elsewhere the directory a person stands in."""
    folder = path if path.is_dir() else path.parent
    found = repository.find(str(folder)) if folder.exists() else None
    return found.root if found is not None else checked_directory(current_directory())


def _directory(cwd: str) -> str:
    """The directory that a person names; for the top of a repository git's own name, so that the
    plan is known again.
    """
    base = checked_directory(cwd)
    found = repository.find(base)
    return found.root if found is not None and Path(found.root).samefile(base) else base
