"""The work of a clone, and its way into the project's repository, so that the clone may go.

The work is the commit that is checked out, with what the files have on top of it. Commits are taken
over into fleet's own store first (`taken_commits`), and files are hashed into it. From then on only
that store is read: what is verified, shown and landed has the same bytes. Every commit that the
clone has and the project has not is taken over, on a branch or not. Whatever cannot be taken over
is reported, and then the clone has to stay.
"""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from fleet.files.agent_place import AgentFile, AgentPlace
from fleet.git import tree_snapshot
from fleet.git.checkout.shared_paths import is_link_to
from fleet.git.clone import agent_git_dir, clone_place
from fleet.git.clone.source_facts import facts_of
from fleet.git.clone.taken_commits import heads_of, own_git, take_commits
from fleet.git.clone.task_refs import RefMove, TaskRefs, why_not_moved
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import FLEET, TRAILER, author_in, message_of
from fleet.git.git_command import Git, GitFailed
from fleet.git.own import left_out
from fleet.git.own.copied_objects import copy_commits
from fleet.git.own.fresh_git_dir import git_in, scratch_git_dir, write_alternates
from fleet.git.own.own_repository import known_repository, own_repository
from fleet.git.refs import commit_of, is_ancestor, tree_of
from fleet.git.repository import shown
from fleet.git.snapshot_names import INDEX
from fleet.git.tree_difference import tree_entries
from fleet.git.tree_snapshot import Committed, TreeSnapshot
from fleet.git.user_settings import ignore_rules
from fleet.home import Home, clone_record

#: Seconds for all git commands of one collection, and the largest pack of new objects.
_LIMIT = 120.0
_GITLINK = b"160000"
#: How many parents a commit gets that only holds others.
_PARENTS = 50
#: How often the refs are read while another process moves them.
_TRIES = 5


class Collected(Struct, frozen=True, kw_only=True):
    """What was brought into the project."""

    #: The commit with all the work, and the ref that leads there; no ref: the commit that the task
    #: began at.
    commit: str
    ref: str
    #: The project did not have this work before.
    is_new: bool
    #: What was found beside the usual, as sentences for a person.
    notes: tuple[str, ...] = ()


class ClonedWork:
    """The work of a clone, read from fleet's own store. Raises GitFailed if it cannot be had."""

    def __init__(self, home: Home, refs: TaskRefs, until: float) -> None:
        task_id = refs.task_id
        self._refs, self._facts = refs, facts_of(refs.git.repo)
        self._place, self._index = home.clone(task_id), kept_index(home, task_id)
        root = os.path.realpath(self._place)
        #: Git in fleet's own store of the clone.
        self.git = own_git(own_repository(home.path, refs.git.repo, root=root), until)
        record = clone_record.read(home, task_id)
        #: The paths where fleet put links to what the project shares.
        self._shared = record.shared if record is not None else ()
        self._agent = agent_git_dir.read_head(self._place / ".git")
        known = refs.git.ask_patiently("for-each-ref", "--format=^%(objectname)")
        #: What fleet's own store has of the clone's commits.
        self.taken = take_commits(
            home, task_id, self.git, known, self._agent.commit, sha256=self._facts.sha256
        )
        missing = [self.taken.missing] if self.taken.missing else []
        self.notes = [*self._agent.oddities, *missing]
        #: The commit that the work goes on from.
        self.head = self._head()
        #: The tree of all files, committed or not; and what is in neither.
        self.tree = ""
        self.beyond = ""
        #: Directories that hide themselves from git, of the last snapshot that was to name them.
        self.hidden: tuple[str, ...] = ()
        self._left_out = False

    def _over(self, index: Path) -> Git:
        """Git over the clone's files with this index, and the project's rules of what to ignore."""
        rules = index.with_name("exclude")
        rules.write_bytes(ignore_rules(self._facts.repo))
        dot, root = Path(self.git.repo.git_dir), self._place
        return git_in(dot, root, self.git.until, str(index), ignore=str(rules))

    def _head(self) -> str:
        refs, dot = self._refs, self._place / ".git"
        commit = (
            commit_of(self.git, f"{self._agent.commit}^{{commit}}") if self._agent.commit else ""
        )
        if commit:
            base = commit_of(refs.git, refs.base_ref)
            if base and not is_ancestor(self.git, base, commit):
                self.notes.append("its history does not contain the commit that it began at")
            return commit
        if agent_git_dir.is_git_dir(dot):
            self.notes.append("its git directory has nothing checked out that could be read")
        else:
            self.notes.append(f"{dot} is no git directory any more")
        return refs.latest() or commit_of(refs.git, refs.base_ref)

    def take_snapshot(
        self,
        *,
        known: Mapping[str, str] = {},
        since: str = "",
        keep: Path | None = None,
        weigh: bool = True,
    ) -> TreeSnapshot:
        """Store all files, committed or not. `known`: files that an earlier snapshot left out, with
        their marks. With `since`, a commit of such a snapshot, directories that hide themselves
        since then are named in `hidden`. `keep` is where the index is kept for the next snapshot.
        With `weigh`, all files are looked through again for what no commit can hold, for `beyond`.
        """
        with tree_snapshot.copied_index(self.git.repo, self._known_index()) as index:
            git = self._over(index)
            _begin_at(git, self.head, index)
            if since:
                self.hidden = left_out.hidden_directories(git, since)
            now = tree_snapshot.take_snapshot(
                git, shared=self._shared, known=known, committed=self._committed()
            )
            self.tree = now.id
            self._left_out = bool(now.left_out)
            self.beyond = self._beyond(git, now) if weigh else ""
            if keep is not None:
                tree_snapshot.keep_index(index, keep)
            return now

    def _known_index(self) -> AgentFile:
        """The index of the last snapshot; before the first one, that which fleet made in the clone.
        Its times tell git which files it need not read.
        """
        kept = AgentFile(AgentPlace(self._index.parent), self._index.name)
        made = AgentFile(AgentPlace(self._place), ".git/index")
        found = made.place.look(made.name)
        return made if found and found.is_file and not self._index.exists() else kept

    def _committed(self) -> Committed | None:
        """The last commit that is the agent's own; None if all commits are fleet's."""
        base, task_id = self._refs.base, self._refs.task_id
        if not base or base == self.head:
            return None
        # Fleet's own, of uncommitted work and of merges, name the task.
        trailer = f"%(trailers:key={TRAILER},valueonly,separator=%x2C)"
        ask = ("log", "-z", "--first-parent", f"--format=%H {trailer}", self.head, f"^{base}", "--")
        rows = (row.partition(" ") for row in self.git.line(*ask).split("\0") if row)
        commit = next((commit for commit, _, task in rows if task.strip() != task_id), "")
        if not commit:
            return None
        entries = tree_entries(self.git, base, self.head)
        links = (os.fsdecode(each.path) for each in entries if each.new_mode == _GITLINK)
        return Committed(commit=commit, links=frozenset(links))

    def _beyond(self, git: Git, now: TreeSnapshot) -> str:
        """What the clone holds and no commit can; empty if nothing."""
        if self.taken.missing:
            return "commits whose files are missing or damaged"
        if now.no_new or now.large:
            return "files that are too large to be kept, or cannot be read"
        if found := agent_git_dir.unfinished(self._place / ".git"):
            return found
        # git lists a repository inside of this one as a directory, without files.
        new = git.ask("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        inside = [_text(name) for name in new if name.endswith(b"/")]
        tree = git.ask("ls-tree", "-r", "-z", now.id).split(b"\0")
        rows = (each for each in tree if each.startswith(_GITLINK))
        links = [_text(each.partition(b"\t")[2]) for each in rows]
        inside += [name for name in links if os.path.lexists(self._place / name / ".git")]
        return f"another repository ({shown(inside[0])})" if inside else ""

    def ignored(self) -> bool:
        """The clone holds files that git ignores (downloads, results, builds), or secrets; or what
        an agent put in the place of a link of fleet's.
        """
        links = [name for name in self._shared if self._is_shared_link(name)]
        replaced = set(self._shared).difference(links)
        if self._left_out or any(os.path.lexists(self._place / name) for name in replaced):
            return True
        with tree_snapshot.copied_index(self.git.repo) as index:
            git = self._over(index)
            git.ask("read-tree", self.head)
            ask = ("ls-files", "-z", "--others", "--exclude-standard", "--ignored", "--directory")
            listed = git.ask(*ask, "--no-empty-directory").split(b"\0")
            return bool({_text(name) for name in listed if name}.difference(links))

    def _is_shared_link(self, name: str) -> bool:
        return is_link_to(self._place / name, f"{self._refs.git.repo.root}/{name}")

    def committed(self, message: str) -> str:
        """The commit with all the work: HEAD, or a commit on top with what was not committed."""
        if not self.tree or self.tree == tree_of(self.git, self.head):
            return self.head
        return write_commit(
            self.git, self.tree, self.head, message=message, author=author_in(self._facts.repo)
        )

    def candidate(self, tree: str, title: str) -> str:
        """The commit with exactly the tree that was verified, whatever became of the clone since:
        HEAD, the commit that was brought before, as other hosts know that one, or a new one.
        """
        if tree_of(self.git, self.head) == tree:
            return self.head
        refs = self._refs
        if tip := commit_of(refs.git, refs.tip_ref):
            made_of = refs.git.ask("rev-parse", f"{tip}^{{tree}}", f"{tip}^@").decode().split()
            if made_of == [tree, self.head]:
                return tip
        message = message_of(title, refs.task_id)
        author = author_in(self._facts.repo)
        return write_commit(self.git, tree, self.head, message=message, author=author)

    def bring(self, commit: str) -> Collected:
        """Take over a commit and all others that only the clone has. Raises GitFailed, and then
        the project's refs are as they were.

        Another process may bring the same work home at once: where it moved a ref first, the refs
        are read again.
        """
        found, tries = tuple(self.notes), 0
        while True:
            self.notes, tries = list(found), tries + 1
            moves, ref = self._moves(commit)
            is_new = any(move.new != move.old for move in moves)
            self._take_over([move.new for move in moves])
            try:
                self._refs.move(moves)
            except GitFailed:
                if tries == _TRIES or not self._refs.overtaken(moves):
                    raise
            else:
                return Collected(commit=commit, ref=ref, is_new=is_new, notes=tuple(self.notes))

    def _moves(self, commit: str) -> tuple[list[RefMove], str]:
        """How the project's refs are to move for this commit, and the ref that will lead to the
        commit.
        """
        refs, git = self._refs, self.git
        before, now = commit_of(refs.git, refs.tip_ref), refs.branch_now()
        left = [each for each in heads_of(self.taken.new) if not is_ancestor(git, each, commit)]
        moves = [*self._beside(left), *self._held(left, before, commit)]
        moves.append(RefMove(ref=refs.tip_ref, new=commit, old=before))
        if not now.commit and commit == commit_of(refs.git, refs.base_ref):
            return moves, ""  # a branch without work would only be looked at in vain
        ref = refs.branch
        # A branch that a person deleted stays deleted until there is something new.
        if now.commit != commit and (now.commit or before != commit):
            forward = bool(now.commit) and is_ancestor(git, now.commit, commit)
            if why := why_not_moved(now, before, forward=forward):
                ref = refs.tip_ref
                self.notes.append(f"{refs.branch} {why}, so the work is at {ref}")
            else:
                moves.append(RefMove(ref=refs.branch_ref, new=commit, old=now.commit))
        return moves, ref

    def _beside(self, left: list[str]) -> list[RefMove]:
        """Branches for the commits that the agent put on branches beside the work; these leave
        `left`.
        """
        refs, moves = self._refs, list[RefMove]()
        names = {commit: name for name, commit in self._agent.branches.items()}
        for commit in [each for each in left if self._is_name(names.get(each, ""))]:
            ref = refs.beside(names[commit])
            there = commit_of(refs.git, ref)
            if not there or is_ancestor(self.git, there, commit):
                left.remove(commit)
                moves.append(RefMove(ref=ref, new=commit, old=there))
                name = ref.removeprefix("refs/heads/")
                self.notes.append(f"the agent's branch {names[commit]} is {name} here")
        return moves

    def _held(self, left: list[str], before: str, commit: str) -> list[RefMove]:
        """One ref for all commits on no branch, beside the commits that the ref holds already."""
        refs = self._refs
        if before and not is_ancestor(self.git, before, commit):
            left.append(before)
            self.notes.append("its history lacks commits that it had before")
        held = commit_of(refs.git, refs.left_ref)
        left = [each for each in left if not (held and is_ancestor(self.git, each, held))]
        if not left:
            return []
        holder, tree = held, tree_of(self.git, commit)
        for start in range(0, len(left), _PARENTS):
            some = [*([holder] if holder else []), *left[start : start + _PARENTS]]
            text = f"Commits of {refs.task_id} that were on no branch: the parents of this one"
            # No person's work: the commit only holds others.
            holder = write_commit(self.git, tree, *some, message=text, author=FLEET)
        count = f"{len(left)} commits are" if len(left) > 1 else "a commit is"
        self.notes.append(f"{count} on no branch: held by {refs.left_ref}")
        return [RefMove(ref=refs.left_ref, new=holder, old=held)]

    def _take_over(self, commits: list[str]) -> None:
        """Copy the objects behind these commits into the project; git checks each of them."""
        known = self._refs.git.ask_patiently("for-each-ref", "--format=^%(objectname)")
        copy_commits(self.git, commits, known, self._facts.objects)

    def _is_name(self, name: str) -> bool:
        if not name:
            return False
        try:
            self.git.ask("check-ref-format", f"refs/heads/x+{name}")
        except GitFailed:
            return False
        return True


def cloned_work(home: Home, refs: TaskRefs, *, limit: float = _LIMIT) -> ClonedWork:
    """The work of the task's clone. Raises FleetError if its commits cannot be taken over."""
    return ClonedWork(home, refs, time.monotonic() + limit)


@contextmanager
def scratch_git(home: Home, refs: TaskRefs, *, limit: float) -> Generator[Git]:
    """Git in a directory that is thrown away, with the project's objects and fleet's own of the
    task's clone.
    """
    facts, until = facts_of(refs.git.repo), time.monotonic() + limit
    own = known_repository(home.path, os.path.realpath(home.clone(refs.task_id)))
    with scratch_git_dir(clone_place.reading_place(home), sha256=facts.sha256) as git_dir:
        if facts.shallow is not None:
            (git_dir / "shallow").write_bytes(facts.shallow)
        write_alternates(git_dir, [facts.objects, f"{own.git_dir}/objects"])
        yield git_in(git_dir, git_dir, until)


def kept_index(home: Home, task_id: str) -> Path:
    """The index that fleet kept of the task's last run."""
    return home.task(task_id) / INDEX


def _begin_at(git: Git, commit: str, index: Path) -> None:
    """Have an index hold what a commit holds, with the times of files that it knew before."""
    try:
        git.ask("read-tree", "--reset", commit)
    except GitFailed:  # a broken index is treated as missing
        index.unlink(missing_ok=True)
        git.ask("read-tree", commit)


def _text(name: bytes) -> str:
    return os.fsdecode(name).rstrip("/")
