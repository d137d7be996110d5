"""What has to pass before work lands: each command with the directory to run in."""

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fleet.schemas import Policy


class CheckPlan(Struct, frozen=True, kw_only=True):
    """The commands of one task, and what the place to run them in has to be like."""

    #: The task's directory from the top of the repository on; that top, and the project.
    inside: str
    top: str
    project: str
    policy: Policy

    @property
    def commands(self) -> tuple[str, ...]:
        # A run from before landing was switched on has no commands of landing.
        return self.policy.land.verify or self.policy.verify

    @property
    def names(self) -> tuple[str, ...]:
        """The checks by the names under which they are remembered."""
        return check_names(self.inside, self.commands)

    @property
    def own(self) -> tuple[str, ...]:
        """The checks that the task alone has: the line need not pass them without
        the task's work.
        """
        return check_names(self.inside, self.policy.land.own)


def check_plan(policy: Policy, *, repository: str, clone: str, cwd: str) -> CheckPlan:
    """The plan for a run that worked in the directory `cwd` of a clone of the repository."""
    top = os.path.realpath(repository)
    project = _project_in(policy, top)
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(clone))
    return CheckPlan(inside=inside, top=top, project=project, policy=policy)


def _project_in(policy: Policy, top: str) -> str:
    """The project's directory in a repository; the top for a project that holds more than that."""
    project = os.path.realpath(policy.copies.project or top)
    return project if project.startswith(f"{top}/") else top


def protected_paths(policy: Policy, repository: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The paths of a repository that need a person's approval: the project's patterns are from its
    own directory on.
    """
    if not policy.land.protect:
        return ()
    from fleet.git.path_patterns import PathPatterns  # loads what most commands do without

    top = os.path.realpath(repository)
    patterns = PathPatterns(policy.land.protect, os.path.relpath(_project_in(policy, top), top))
    return tuple(filter(patterns.match, paths))


def check_names(inside: str, commands: Iterable[str]) -> tuple[str, ...]:
    """The names of commands that run in one directory of the tree."""
    return tuple(f"{inside}: {command}" for command in commands)


def command_of(name: str) -> str:
    """The command of a check."""
    return name.partition(": ")[2]


def distinct(plans: Sequence[CheckPlan]) -> tuple[CheckPlan, ...]:
    """The plans of a batch that ask for something which no earlier plan does."""
    found: list[CheckPlan] = []
    known: set[str] = set()
    for plan in plans:
        if not known.issuperset(plan.names):
            known.update(plan.names)
            found.append(plan)
    return tuple(found)


def all_names(plans: Sequence[CheckPlan]) -> tuple[str, ...]:
    """Every check of these plans, each once."""
    return tuple(dict.fromkeys(name for plan in plans for name in plan.names))
