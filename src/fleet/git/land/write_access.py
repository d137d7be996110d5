"""Finds the living boxes that can write where a person's checkout moves."""

import os
from collections.abc import Iterable, Sequence

from fleet.git.repository import Repository
from fleet.processes.keeper_client import living_runs
from fleet.runs.run_id import task_of
from fleet.sandbox.bwrap_argv import written_by


def writer_in(repo: Repository, paths: Sequence[bytes]) -> str:
    """The task whose living run can write in a checkout where git is to write these `paths`, or in
    the git directory; empty if there is no such run.

    Runs without a box have the permissions of the person and are not counted.
    """
    for run in living_runs():
        spec = run.known_spec()
        if spec is not None and spec.boxed and can_write(written_by(spec.argv), repo, paths):
            return task_of(run, spec.id) or "a verify command"
    return ""


def can_write(places: Iterable[str], repo: Repository, paths: Sequence[bytes]) -> bool:
    """Whether one of the `places` holds the checkout or a path that git is to write."""
    root, *git = map(os.path.realpath, (repo.root, repo.git_dir, repo.common_dir))
    return any(
        any(_holds(place, each) for each in (root, *git))
        or any(_holds(each, place) for each in git)
        or (_holds(root, place) and _is_on_way(os.fsencode(os.path.relpath(place, root)), paths))
        for place in map(os.path.realpath, places)
    )


def _is_on_way(inside: bytes, paths: Sequence[bytes]) -> bool:
    return any(
        f"{os.fsdecode(one)}/".startswith(f"{os.fsdecode(other)}/")
        for path in paths
        for one, other in ((path, inside), (inside, path))
    )


def _holds(place: str, other: str) -> bool:
    return f"{other}/".startswith(f"{place.rstrip('/')}/")
