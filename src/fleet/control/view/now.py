"""What a person looks at first: what needs them, what runs, what waits and why, what is done."""

from datetime import datetime

from msgspec import Struct, field

from fleet.control.tasks.in_progress import Doing
from fleet.control.view.why_not_now import SupervisorNow
from fleet.home.landing_json import LandingState
from fleet.schemas import Spend, Status
from fleet.schemas.receipt import VerdictState
from fleet.schemas.task_state import Group, Standing, TaskState, WayOn


class RunNow(Struct, frozen=True, kw_only=True):
    """The run of a task in progress, as far as files tell."""

    number: int
    doing: Doing
    started_at: datetime | None = None
    last_event_at: datetime | None = None
    #: What the agent did last, on one line; empty: nothing yet.
    last_step: str = ""
    #: Tokens in the agent's context now, at the fullest moment, and how many fit; 0: not known.
    context_tokens: int = field(default=0, name="context_used")
    context_peak: int = 0
    context_window: int = field(default=0, name="context_size")
    events: int = 0
    tool_calls: int = 0
    #: What the run itself used so far.
    spent: Spend = Spend()
    #: The rung of the stall rules; `fine` or empty while all is well.
    rung: str = ""
    #: Limits that are nearly used up, like `cost 82 %`.
    near: tuple[str, ...] = ()


class TaskRow(Struct, frozen=True, kw_only=True):
    """One task on one line."""

    id: str
    title: str
    #: How the task stands, in the one word that every surface shows; `group` follows from it.
    state: TaskState = "ready"
    group: Group
    status: Status
    #: The directory that the task is about, and the one that its agent works in.
    project: str = ""
    directory: str = ""
    coder: str = ""
    #: Empty: the coder's CLI chooses.
    model: str = ""
    account: str = ""
    priority: int = 2
    issue_type: str = "task"
    labels: tuple[str, ...] = ()
    #: The task that this one belongs to: an epic, or the task whose agent made this one.
    parent: str = ""
    created_at: datetime
    #: Since when the task stands where it stands: running, waiting, blocked, closed.
    since: datetime | None = None
    #: Not before this moment, if the task was put off.
    until: datetime | None = None
    #: Why the task does not plainly run, in the words of what decides it; empty if all is well.
    reason: str = ""
    #: What a person can do about that; None: nothing has to be done.
    way_on: WayOn | None = None
    #: What the agent asks; empty if it asks nothing.
    question: str = ""
    #: Answers that the agent offers; any text is one.
    options: tuple[str, ...] = ()
    #: The attempt that runs, or that comes next, of as many as there may be.
    attempt: int = 1
    attempts: int = 0
    #: What the last run that is over had shown; None: no claim, or no such run.
    verdict: VerdictState | None = None
    #: How far accepted work is on the way to the branch; None: no landing.
    landing: LandingState | None = None
    landing_words: str = ""
    #: What all runs of the task used, the active one too. A cost that is not known is not 0:
    #: `unpriced` counts its runs.
    spent: Spend = Spend()
    run: RunNow | None = None

    @property
    def standing(self) -> Standing:
        """How the task stands."""
        person = self.state == "waiting" and self.group == "needs_you"
        return Standing(
            state=self.state, reason=self.reason, until=self.until, way_on=self.way_on,
            person=person,
        )  # fmt: skip

    @property
    def words(self) -> str:
        """State and reason below a heading that says what waits."""
        if self.group == "done":
            return (self.landing_words if self.state == "landed" else "") or self.state
        if self.group == "waiting" and self.state == "waiting" and self.reason:
            return self.reason
        return f"{self.state}: {self.question or self.reason}".rstrip(": ")


class GroupCounts(Struct, frozen=True, kw_only=True):
    """How many tasks there are of each group; rows may be fewer."""

    needs_you: int = 0
    running: int = 0
    waiting: int = 0
    done: int = 0


class Now(Struct, frozen=True, kw_only=True):
    """A home at one moment."""

    #: The place of this value in the stream of changes; 0: from no stream.
    seq: int = 0
    as_of: datetime
    home: str
    queue: str
    supervisor: SupervisorNow
    counts: GroupCounts
    #: Tasks that were closed since this moment are shown as done.
    done_since: datetime
    #: Most urgent first: by group, and within a group in the order that matters there.
    rows: tuple[TaskRow, ...] = ()
