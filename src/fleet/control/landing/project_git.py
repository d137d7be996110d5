"""What a list of landings asks of a project's repository: the files of a change, and which branch
holds which commits.

Nothing is written. Git reads the project's objects through the directory of fleet's own.
"""

import os
from collections.abc import Mapping

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import refs_of
from fleet.git.refs import BRANCHES, OURS, commit_of, is_ancestor, merge_base, tree_of
from fleet.git.repository import shown
from fleet.git.tree_difference import changed_names
from fleet.home import Home

_HEADS = "refs/heads/"
#: The lines that stand ahead of their branches.
LINES = f"{OURS}land/"


class ProjectGit:
    """One project, until a moment of the monotonic clock. Raises FleetError if it is gone."""

    def __init__(self, home: Home, root: str, until: float) -> None:
        repo = repository.find(root)
        if repo is None:
            raise FleetError("it is no git repository any more")
        self.root = root
        own = own_repository(home.path, repo)
        self._git = Git(own, until)
        listed = refs_of(own, repo, until).ask_patiently(
            "for-each-ref", "--format=%(objectname) %(refname)"
        )
        rows = (os.fsdecode(row).partition(" ") for row in listed.splitlines())
        self._refs = {name: commit for commit, _, name in rows}

    def line_of(self, branch: str) -> str:
        """The commit that new work of a branch goes onto; empty: there is no such branch."""
        line, tip = self._refs.get(f"{LINES}{branch}", ""), self._refs.get(f"{_HEADS}{branch}", "")
        return line if line and tip and not is_ancestor(self._git, line, tip) else tip

    def changed(self, commit: str, line: str, base: str) -> list[str] | None:
        """The files that a commit changes since it left the commit `line`, or since `base`; None if
        that cannot be told.
        """
        try:
            start = merge_base(self._git, line, commit) if line else base
            if not start or not commit_of(self._git, f"{start}^{{commit}}"):
                return None
            return list(map(shown, changed_names(self._git, start, commit)))
        except GitFailed:
            return None

    def tree_of(self, commit: str) -> str:
        """The tree of a commit. Raises GitFailed."""
        return tree_of(self._git, commit)

    def lines_ahead(self) -> list[tuple[str, int]]:
        """The branches that stand behind their lines, each with the number of commits."""
        found: list[tuple[str, int]] = []
        for ref, line in self._refs.items():
            branch = ref.removeprefix(LINES)
            tip = self._refs.get(f"{_HEADS}{branch}", "")
            if ref.startswith(LINES) and tip and self.line_of(branch) == line:
                count = self._git.line("rev-list", "--count", line, f"^{tip}")
                found.append((branch, int(count)))
        return found

    def unmerged(self, branches: Mapping[str, str]) -> dict[str, str]:
        """The refs whose commits no branch of a person's has, each with the commit."""
        tips = {name: self._refs[ref] for name, ref in branches.items() if ref in self._refs}
        if not tips:
            return {}
        theirs = {
            commit
            for ref, commit in self._refs.items()
            if ref.startswith((_HEADS, "refs/remotes/", LINES)) and not ref.startswith(BRANCHES)
        }
        feed = "".join([f"{tip}\n" for tip in tips.values()] + [f"^{each}\n" for each in theirs])
        left = set(self._git.ask("rev-list", "--stdin", feed=feed.encode()).decode().split())
        return {name: tip for name, tip in tips.items() if tip in left}
