"""What fleet saw of a run: the content of `receipt.json`. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from fleet.schemas.budget import Spend, spend_of
from fleet.schemas.event import Usage
from fleet.schemas.policy import Policy


class Command(Struct, frozen=True, kw_only=True):
    """A command that the agent ran, by the stream."""

    text: str
    #: The command ended with an error.
    failed: bool = False
    #: The command was refused for want of permission, and never ran.
    denied: bool = False
    #: No result came: it was cut off, or still ran when the agent ended.
    unended: bool = False
    #: The end of what it printed.
    tail: str = ""

    @property
    def ended_well(self) -> bool:
        return not (self.failed or self.denied or self.unended)

    @property
    def ending(self) -> str:
        """How the command ended, if not well; for people."""
        if self.denied:
            return "denied"
        return "never ended" if self.unended else "failed" if self.failed else ""


class FileChange(Struct, frozen=True, kw_only=True):
    """One file that the run's end and start differ in."""

    path: str
    kind: Literal["added", "changed", "deleted"]
    added: int = 0
    removed: int = 0


class BegunMerge(Struct, frozen=True, kw_only=True):
    """A merge that fleet began in a task's clone before a run, because the work could not land."""

    #: The commit with the task's own work that could not land, and the commit of the line.
    own: str
    line: str
    #: The commit of the clone that the line is merged into, if it is not `own`: the clone was
    #: changed since, or holds a merge that was refused.
    tip: str = ""
    #: The tree of the clone's files before the merge.
    found: str = ""
    #: Files that git could not merge; none: the merge was clean, and fleet committed it.
    files: tuple[str, ...] = ()
    #: The clone holds the merge: from now on it is the agent's.
    ready: bool = False


class Base(Struct, frozen=True, kw_only=True):
    """A git repository at the start of a run."""

    #: The top directory of the working tree.
    root: str
    #: The git directory of the working tree, and the common one: what `.git` says later does not
    #: count.
    git_dir: str = ""
    common_dir: str = ""
    #: The commit that was checked out; empty in a repository without any.
    head: str = ""
    #: The branch that was checked out; empty if none was.
    branch: str = ""
    #: A commit of the working tree, with unfinished work and new files. A ref keeps the commit, so
    #: that lost files can be restored.
    snapshot: str = ""
    #: Where every other ref of the repository stood, as a digest by name.
    refs: dict[str, str] = field(default_factory=dict[str, str])
    #: Files that an agent must not change (hooks, settings of git and agents), as a digest by path.
    guarded: dict[str, str] = field(default_factory=dict[str, str])
    #: The paths where fleet put links to what the project shares: no file there is work.
    shared: tuple[str, ...] = ()
    #: Why there is no snapshot; empty if there is one.
    trouble: str = ""
    #: What the run finds begun; None: nothing.
    merge: BegunMerge | None = None


class WorkElsewhere(Struct, frozen=True, kw_only=True):
    """Commits of a run that are not in what the run left checked out."""

    #: rewound: they were on what is checked out, or on no branch, and all was set back.
    kind: Literal["branch", "stash", "rewound"]
    #: Of a branch, its name; of a stash, like `stash@{0}`.
    name: str = ""
    commit: str
    #: The subject of the commit.
    title: str = ""
    #: How many commits there are.
    count: int = 1
    #: The ref of the project that is going to hold them.
    held_by: str = ""


class Misplaced(Struct, frozen=True, kw_only=True):
    """What of a run's work is where it cannot land, or must not."""

    #: Work that is in a commit, and not in what is checked out.
    elsewhere: tuple[WorkElsewhere, ...] = ()
    #: The commit that the work began at, if what is checked out has no commit in common with it.
    unrelated_to: str = ""
    #: Files of commits at paths that the project shares with every copy by a link.
    shared: tuple[str, ...] = ()


class Changes(Struct, frozen=True, kw_only=True):
    """How the repository differs from the run's start."""

    #: The commit and the tree that the run found.
    base: str
    #: The tree at the end against the tree at the start, so that unfinished work of the user's
    #: from before is no change of the run.
    files: tuple[FileChange, ...] = ()
    #: How many changed files are not listed.
    more: int = 0
    #: Other tasks whose runs worked in the same tree meanwhile, and the files that only the streams
    #: of those runs name. `files` holds the rest.
    shared_with: tuple[str, ...] = ()
    others: tuple[FileChange, ...] = ()
    #: How many files there were, and how many files and bytes of them are lost: neither in their
    #: place nor under another name.
    tracked: int = 0
    lost_files: int = 0
    lost_bytes: int = 0
    #: The tree that the run left, as fleet stored it; empty: not stored.
    tree: str = ""
    #: Files that the agent's commit has and its working tree had not: they belong to the tree.
    kept: tuple[str, ...] = ()
    #: Directories that hide themselves from git since: their own `.gitignore` names all in them.
    hidden: tuple[str, ...] = ()
    #: New commits on the branch; none where they change no file together.
    commits: tuple[str, ...] = ()
    misplaced: Misplaced = Misplaced()
    #: Where the whole difference is kept, below the run's directory; empty if there is none.
    diff: str = ""
    #: Why this may be incomplete: git failed, or took too long.
    trouble: str = ""

    @property
    def count(self) -> int:
        return len(self.files) + self.more


class CountedTests(Struct, frozen=True, kw_only=True):
    """How many tests a command ran, by the closing lines of its test runners."""

    #: Without skipped tests and those that are expected to fail.
    executed: int
    skipped: int = 0
    runners: tuple[str, ...] = ()


class BaseCheck(Struct, frozen=True, kw_only=True):
    """What a verify command came to on the commit that the work began at."""

    passed: bool
    #: None: no closing line of a known test runner.
    tests: CountedTests | None = None


class Check(Struct, frozen=True, kw_only=True):
    """A verify command, as fleet ran it."""

    command: str
    #: None: the command was stopped, or could not be run.
    code: int | None = None
    #: None: the command was never begun.
    started_at: datetime | None = None
    seconds: float = 0.0
    timed_out: bool = False
    #: The end of the command's output; the whole is in the run's directory.
    tail: str = ""
    #: The tree that the command ran on, in a fresh checkout; empty: in the run's directory.
    tree: str = ""
    #: What the project's directory has and git ignores, and the checkout therefore had not.
    lacks: tuple[str, ...] = ()
    #: Pinned files that the agent had changed; the command ran with the original ones.
    restored: tuple[str, ...] = ()
    #: None: no closing line of a known test runner.
    tests: CountedTests | None = None
    #: The same command before the work. None: not known.
    base: BaseCheck | None = None
    trouble: str = ""

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.trouble

    @property
    def tests_words(self) -> str:
        """`42 → 42`: tests executed before the work and after it. Empty: neither is known."""
        before = self.base.tests if self.base is not None else None
        if before is None and self.tests is None:
            return ""
        after = "none counted" if self.tests is None else str(self.tests.executed)
        return f"{before.executed} → {after}" if before is not None else after


class Exam(Struct, frozen=True, kw_only=True):
    """Tests, build files and CI files that the work of all runs of a task changes."""

    #: Changed or deleted, or new and able to change how existing tests run.
    changed: tuple[str, ...] = ()
    #: New test files.
    added: tuple[str, ...] = ()
    #: Changed ones that the task's scope does not name: a person looks at them before they land.
    unnamed: tuple[str, ...] = ()


#: The rule that a run broke whose records are not as fleet wrote them.
TAMPERED = "tampered"


class Finding(Struct, frozen=True, kw_only=True):
    """A rule that a run broke."""

    rule: str
    #: What was seen, in a sentence for people and for the next agent.
    what: str


#: The four words for a claim of completion. checked: the operator's verify commands passed on what
#: the run left. unchecked: nothing contradicts the claim, and nothing proves it.
VerdictState = Literal["checked", "unchecked", "rejected", "out of scope"]
#: The colour of each on a terminal.
VERDICT_COLOURS: Mapping[VerdictState, str] = {
    "checked": "green",
    "unchecked": "cyan",
    "rejected": "yellow",
    "out of scope": "red",
}


class Verdict(Struct, frozen=True, kw_only=True):
    """fleet's judgement on a run's claim of completion."""

    findings: tuple[Finding, ...] = ()
    #: Findings about where the run worked, not about what the agent claims.
    trespasses: tuple[Finding, ...] = ()
    #: There are verify commands of the operator's, and all of them passed.
    checked: bool = False

    @property
    def state(self) -> VerdictState:
        if self.trespasses:
            return "out of scope"
        if self.findings:
            return "rejected"
        return "checked" if self.checked else "unchecked"

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The rules that the run broke, scope first."""
        return (*self.trespasses, *self.findings)


class RejectedWork(Struct, frozen=True, kw_only=True):
    """Files that a rejected run left, and that are part of the work of all runs."""

    run: int
    #: The rules that its claim broke.
    rules: tuple[str, ...]
    files: tuple[str, ...]


class Receipt(Struct, frozen=True, kw_only=True):
    """One run as fleet saw it."""

    task_id: str
    run: int
    #: The directory that the task was made for.
    project: str = ""
    coder: str
    model: str = ""
    #: The login or key that the run used.
    account: str = ""
    #: The name of the host that it ran on, where hosts share the queue.
    host: str = ""
    #: The CLI's own version.
    version: str = ""
    session_id: str = ""
    started_at: datetime | None = None
    #: None: no record tells how long it ran.
    seconds: float | None = None
    #: How the run ended, in a word and a sentence.
    outcome: str = ""
    why: str = ""
    #: The agent's claim of completion; None if there is none.
    claim: str | None = None
    #: The agent's last words.
    text: str = ""
    #: How often each tool was called.
    tools: dict[str, int] = field(default_factory=dict[str, int])
    tool_errors: int = 0
    #: Calls that had a result; 0 where the CLI tells of none.
    tool_results: int = 0
    commands: tuple[Command, ...] = ()
    more_commands: int = 0
    #: Tools that were refused for want of permission, and the calls: `Bash: make test`.
    denied: tuple[str, ...] = ()
    denied_calls: tuple[str, ...] = ()
    #: Commands that destroy something outside of the project, and what each does.
    destroyed: tuple[str, ...] = ()
    subagents: int = 0
    turns: int = 0
    usage: Usage = Usage()
    #: The CLI was cut off before it had counted the run: `usage` and an estimate are the least.
    partial: bool = False
    #: The cost by the CLI's own figure, and fleet's estimate from tokens and prices where the CLI
    #: tells none. Without either the cost is unknown.
    cost_usd: float | None = None
    estimated_usd: float | None = None
    #: None: no record tells.
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    #: Processes that the agent left behind and the keeper ended.
    swept: tuple[str, ...] = ()
    #: Seconds from the request to stop until all processes had ended; None if the agent ended by
    #: itself.
    stop_seconds: float | None = None
    #: None: the directory is in no git repository.
    changes: Changes | None = None
    #: Files in the artifacts directory that the run wrote.
    artifacts: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    exam: Exam = Exam()
    #: What the work of all runs changes, which is what lands, where earlier runs have a part in it.
    whole: tuple[FileChange, ...] = ()
    #: What of `whole` comes from runs whose claim was rejected, and was not changed since.
    rejected_work: tuple[RejectedWork, ...] = ()
    policy: Policy = Policy()
    #: None before the judgement.
    verdict: Verdict | None = None

    @property
    def accepted_tree(self) -> str:
        """The tree of an accepted claim; empty: the claim was not accepted."""
        if self.verdict is None or self.verdict.broken:
            return ""
        checked = self.checks[0].tree if self.checks else ""
        return checked or (self.changes.tree if self.changes is not None else "")

    @property
    def checks_passed(self) -> bool:
        """There were verify commands, and all of them passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def closed_as(self) -> Literal["checked", "unchecked"]:
        """What a run that closed its task had shown."""
        return "checked" if self.verdict is not None and self.verdict.checked else "unchecked"

    @property
    def cost(self) -> float | None:
        """The CLI's figure, or else the estimate; None if there is neither."""
        return self.estimated_usd if self.cost_usd is None else self.cost_usd

    @property
    def spend(self) -> Spend:
        """What the run used. A run that never began used nothing, at a known cost."""
        if self.started_at is None and self.cost is None and not self.usage.total:
            return Spend(runs=1)
        return spend_of(
            tokens=self.usage.total,
            reported=self.cost_usd,
            estimated=self.estimated_usd,
            partial=self.partial,
        )
