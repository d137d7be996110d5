"""Work of a clone that is not in what its agent left checked out: on another branch, in a stash, or
taken off the branch again.

What a merge would add nothing of is no such work: a branch that was squashed, picked or rebased, a
stash that was applied. Commits that something replaced are none either (`git commit --amend`, a
rebase), so a commit on no branch counts only where nothing at all is left of the work, and only
until fleet holds it: an agent that was told of it may stand by that.
"""

from collections.abc import Iterator

from fleet.git.clone import agent_git_dir
from fleet.git.clone.agent_git_dir import AgentHead
from fleet.git.clone.collect_work import ClonedWork, cloned_work
from fleet.git.clone.taken_commits import heads_of
from fleet.git.clone.task_refs import TaskRefs, task_refs
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import FLEET
from fleet.git.land.merge_trees import merge_commits
from fleet.git.refs import commit_of, is_ancestor, tree_of
from fleet.git.repository import shown
from fleet.home import Home
from fleet.schemas import WorkElsewhere

#: How many commits of one branch are counted, and characters of a subject.
_MOST = 100
_LONGEST = 72
#: How many parents a stash has that holds new files too.
_WITH_NEW_FILES = 3


def work_elsewhere(home: Home, task_id: str, tree: str) -> tuple[WorkElsewhere, ...]:
    """The work of a task's clone that is not in `tree`, which its run left. Raises FleetError."""
    refs = task_refs(home, task_id)
    if refs is None or not refs.base:
        return ()
    dot = home.clone(task_id) / ".git"
    agent = agent_git_dir.read_head(dot)
    beside = set(agent.branches.values()) - {agent.commit}
    has_own = any(agent_git_dir.may_store(dot, commit) for commit in beside)
    is_empty = tree == tree_of(refs.git, refs.base)
    if not (has_own or agent.stashes or is_empty):
        return ()
    search = _Search(cloned_work(home, refs), refs, agent, tree)
    found = [*search.branches(), *search.stashes()]
    return tuple([*found, *search.rewound(found)] if is_empty else found)


def _others(refs: TaskRefs) -> list[str]:
    """The commits of the project's refs, without those of the task."""
    own = (f"{refs.base_ref.rpartition('/')[0]}/", refs.beside(""))
    listed = refs.git.ask_patiently("for-each-ref", "--format=%(objectname) %(refname)")
    pairs = (line.partition(" ") for line in listed.decode(errors="replace").splitlines())
    return [
        commit for commit, _, name in pairs if name != refs.branch_ref and not name.startswith(own)
    ]


class _Search:
    """Looks for work in the commits that a clone stores itself."""

    def __init__(self, work: ClonedWork, refs: TaskRefs, agent: AgentHead, tree: str) -> None:
        self._work, self._refs, self._agent, self._tree = work, refs, agent, tree
        self._git = work.git
        #: The commit that is checked out, and commits that are not the task's.
        others = {*_others(refs), *(agent.fetched & work.taken.stored)}
        self._not = "".join(f"^{each}\n" for each in (work.head, *sorted(others)))
        text = "What the run left"
        self._all = write_commit(work.git, tree, work.head, message=text, author=FLEET)

    def branches(self) -> Iterator[WorkElsewhere]:
        """Branches with commits that are neither in the work nor someone else's."""
        for name, commit in sorted(self._agent.branches.items()):
            count = self._count(commit)
            if count and self._adds(commit):
                held_by = self._refs.beside(name).removeprefix("refs/heads/")
                yield WorkElsewhere(
                    kind="branch",
                    name=shown(name.encode()),
                    commit=commit,
                    title=self._title(commit),
                    count=count,
                    held_by=held_by,
                )

    def stashes(self) -> Iterator[WorkElsewhere]:
        """Stashes with changes that the work has not."""
        for number, commit in enumerate(self._agent.stashes):
            if commit in self._work.taken.stored and (self._adds(commit) or self._has_new(commit)):
                yield WorkElsewhere(
                    kind="stash",
                    name=f"stash@{{{number}}}",
                    commit=commit,
                    title=self._title(commit),
                    held_by=self._refs.left_ref,
                )

    def rewound(self, found: list[WorkElsewhere]) -> Iterator[WorkElsewhere]:
        """Commits on top of what is checked out that no branch leads to, and that fleet does not
        hold yet, or holds as the latest work of the task.
        """
        named = {*(each.commit for each in found), *self._agent.stashes}
        named.update(self._agent.branches.values())
        before = commit_of(self._refs.git, self._refs.tip_ref)
        heads = {*heads_of(self._work.taken.new), *([before] if before else [])}
        for commit in sorted(heads - named - {self._work.head}):
            on_top = is_ancestor(self._git, self._work.head, commit)
            if on_top and tree_of(self._git, commit) != self._tree:
                yield WorkElsewhere(
                    kind="rewound",
                    commit=commit,
                    title=self._title(commit),
                    count=max(1, self._range(commit, f"^{self._work.head}\n")),
                    held_by=self._refs.left_ref,
                )

    def _count(self, commit: str) -> int:
        """How many commits lead to this one that are neither in the work nor someone else's."""
        return self._range(commit, self._not) if commit in self._work.taken.stored else 0

    def _range(self, commit: str, without: str) -> int:
        ask = ("rev-list", "--count", f"--max-count={_MOST}", "--stdin")
        return int(self._git.ask(*ask, feed=f"{commit}\n{without}".encode()))

    def _adds(self, commit: str) -> bool:
        """A merge of the commit into the work would change something, or cannot be made."""
        return merge_commits(self._git, self._all, commit) != self._tree

    def _has_new(self, commit: str) -> bool:
        """A stash holds new files that the work has not."""
        parents = self._git.line("rev-parse", f"{commit}^@").split()
        if len(parents) < _WITH_NEW_FILES:
            return False
        held, left = (
            set(self._git.ask("ls-tree", "-r", "-z", each).split(b"\0"))
            for each in (parents[-1], self._tree)
        )
        return not held <= left

    def _title(self, commit: str) -> str:
        return shown(self._git.ask("log", "-1", "--format=%s", commit).strip())[:_LONGEST]
