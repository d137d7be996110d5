"""The git directory of a new clone: files that fleet writes, without templates, hooks or filters.

It shares the objects of the project's repository and only reads them. Branches, tags and remote
branches are copies: what an agent does to them changes nothing in the project.
"""

from pathlib import Path

from fleet.git.clone.scratch_git_dir import write_alternates, write_git_dir
from fleet.git.clone.source_facts import facts_of, packed_refs
from fleet.git.git_command import Git


def make_git_dir(place: Path, git: Git, branch: str, commit: str) -> None:
    """Make a git directory for a clone of git's repository, with `branch` at `commit`."""
    facts = facts_of(git.repo)
    write_git_dir(place, sha256=facts.sha256, bare=False, config=facts.config)
    write_alternates(place, [facts.objects])
    (place / "packed-refs").write_bytes(packed_refs(git, {branch: commit}))
    (place / "info/exclude").write_bytes(facts.exclude)
    if facts.shallow is not None:
        (place / "shallow").write_bytes(facts.shallow)
    (place / "HEAD").write_text(f"ref: {branch}\n", encoding="utf-8")
