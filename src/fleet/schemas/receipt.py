"""What fleet itself saw of a run: the content of `receipt.json`. Pure."""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from fleet.schemas.budget import Spend, spend_of
from fleet.schemas.event import Usage
from fleet.schemas.policy import Policy


class Command(Struct, frozen=True, kw_only=True):
    """A command that the agent ran, by its stream."""

    text: str
    failed: bool = False


class FileChange(Struct, frozen=True, kw_only=True):
    """One file that is not as it was when the run began."""

    path: str
    kind: Literal["added", "changed", "deleted"]
    added: int = 0
    removed: int = 0


class Base(Struct, frozen=True, kw_only=True):
    """A git repository at the start of a run."""

    #: The top directory of the working tree.
    root: str
    #: The commit that was checked out; empty in a repository without any.
    head: str = ""
    #: The branch that was checked out; empty if none was.
    branch: str = ""
    #: A commit of the working tree as it was, unfinished work and new files too. It is held by a
    #: ref of its own, so that what gets lost can be taken back.
    snapshot: str = ""
    #: Where every other ref of the repository stood, as a digest by name.
    refs: dict[str, str] = field(default_factory=dict[str, str])
    #: What an agent must leave alone (hooks, git's and agents' settings), as a digest by path.
    guarded: dict[str, str] = field(default_factory=dict[str, str])
    #: Why there is no snapshot; empty if there is one.
    trouble: str = ""


class Changes(Struct, frozen=True, kw_only=True):
    """What became of the repository since the run began."""

    #: The commit and the tree that the run found.
    base: str
    #: Files, by the tree at the start against the tree at the end: what was there before, the
    #: user's own unfinished work too, is no change of the run's.
    files: tuple[FileChange, ...] = ()
    #: There were more files than are listed.
    more: int = 0
    #: How many files the run found, and how much of that is nowhere any more: neither in its
    #: place nor under another name.
    tracked: int = 0
    lost_files: int = 0
    lost_bytes: int = 0
    #: Commits on the branch that were not there.
    commits: tuple[str, ...] = ()
    #: Where the whole difference is kept, below the run's directory; empty if there is none.
    diff: str = ""
    #: Why this is not the whole truth: git failed, or took too long.
    trouble: str = ""

    @property
    def count(self) -> int:
        return len(self.files) + self.more


class Check(Struct, frozen=True, kw_only=True):
    """A verify command, as fleet ran it."""

    command: str
    #: None: it had to be stopped, or could not be run.
    code: int | None = None
    seconds: float = 0.0
    timed_out: bool = False
    #: The end of what it printed; all of it is in the run's directory.
    tail: str = ""
    #: Pinned files that the agent had changed; the command ran with the original ones.
    restored: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.trouble


class Finding(Struct, frozen=True, kw_only=True):
    """A rule that a run broke."""

    rule: str
    #: What was seen, in a sentence for people and for the next agent.
    what: str


class Verdict(Struct, frozen=True, kw_only=True):
    """What fleet makes of a run's claim to be done."""

    findings: tuple[Finding, ...] = ()
    #: Findings about where the run went, not about what it claims.
    trespasses: tuple[Finding, ...] = ()

    @property
    def state(self) -> Literal["verified", "unverified", "out_of_scope"]:
        if self.trespasses:
            return "out_of_scope"
        return "unverified" if self.findings else "verified"


class Receipt(Struct, frozen=True, kw_only=True):
    """One run as fleet saw it."""

    task_id: str
    run: int
    #: The directory that the task was made for.
    project: str = ""
    coder: str
    model: str = ""
    #: The login or key that it ran on.
    account: str = ""
    #: The CLI's own version.
    version: str = ""
    session_id: str = ""
    started_at: datetime | None = None
    seconds: float = 0.0
    #: How it ended, in a word and a sentence.
    outcome: str = ""
    why: str = ""
    #: The agent's claim; None if it made none.
    claim: str | None = None
    #: The last thing that it said.
    text: str = ""
    #: How often each tool was called.
    tools: dict[str, int] = field(default_factory=dict[str, int])
    tool_errors: int = 0
    commands: tuple[Command, ...] = ()
    more_commands: int = 0
    denied: tuple[str, ...] = ()
    subagents: int = 0
    turns: int = 0
    usage: Usage = Usage()
    #: What it cost by its CLI's own figure; where that tells none, by fleet's estimate from tokens
    #: and prices; where there is neither, nobody knows.
    cost_usd: float | None = None
    estimated_usd: float | None = None
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    #: Processes that were left behind and had to be ended.
    swept: tuple[str, ...] = ()
    #: Seconds from the word to stop until all was gone; None if it ended by itself.
    stop_seconds: float | None = None
    #: None: its directory is no git repository.
    changes: Changes | None = None
    #: Files in the artifacts directory that the run wrote.
    artifacts: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    policy: Policy = Policy()
    #: None while nobody has judged.
    verdict: Verdict | None = None

    @property
    def cost(self) -> float | None:
        """The best that is known of its cost; None if nothing is."""
        return self.estimated_usd if self.cost_usd is None else self.cost_usd

    @property
    def spend(self) -> Spend:
        """What it used. Of a run that never began it is known that it used nothing."""
        if self.started_at is None and self.cost is None and not self.usage.total:
            return Spend(runs=1)
        return spend_of(tokens=self.usage.total, told=self.cost_usd, estimated=self.estimated_usd)
