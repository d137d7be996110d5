"""Each act of a person as a value: its fields, the role that may do it, what is done, and the
command line that does the same.

Surfaces that know a verb by its name read the fields into such a value (`act_table.py`). A command
calls the same function as its act, with the flags that it read, and prints the same sentence.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from fleet.control import Control
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line

#: What a session may do: look; look and answer; everything.
Role = Literal["view", "answer", "operate"]
#: A text that a person typed; no request has a reason to be longer.
Text = Annotated[str, Meta(min_length=1, max_length=200_000)]
LineText = Annotated[str, Meta(min_length=1, max_length=2000)]
TaskId = Annotated[str, Meta(min_length=1, max_length=128)]
#: A sentence for the person, and what the command's `--json` prints, if anything.
ActResult = tuple[str, Any]


class Act(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verb with the fields that a person gave; the docstring of its class says what it does.

    A field that is not known is refused, so that a misspelt one is not silently left out.
    """

    verb: ClassVar[str]
    role: ClassVar[Role] = "operate"

    def do(self, fleet: Control) -> ActResult:
        """Do what is asked for. Raises FleetError."""
        raise NotImplementedError

    def line(self) -> list[str]:
        """The words of the command line that does the same."""
        raise NotImplementedError


class CreateAct(Act, frozen=True, kw_only=True):
    """Create a task."""

    verb = "create"

    title: Annotated[str, Meta(min_length=1, max_length=500)]
    #: The directory to work in, absolute.
    cwd: LineText
    description: str = ""
    design: str = ""
    acceptance: str = ""
    notes: str = ""
    priority: Annotated[int, Meta(ge=0, le=4)] = 2
    type: str = "task"
    labels: tuple[str, ...] = ()
    parent: TaskId | None = None
    #: Tasks that the new one waits for, and tasks that shall wait for it.
    depends_on: tuple[TaskId, ...] = ()
    blocks: tuple[TaskId, ...] = ()
    assignee: str = ""
    #: The same key makes the same task once, however often it is asked for.
    key: LineText | None = None
    #: fleet's own flags, by their names: coder, model, account, verify, scope, budget, timeout, …
    flags: dict[str, str | tuple[str, ...]] = {}

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.acts.create import create

        return create(fleet, self)

    def line(self) -> list[str]:
        flags = [f"--cwd={self.cwd}"]
        plain = ("description", "design", "acceptance", "notes", "parent", "assignee")
        flags += [f"--{name}={value}" for name in plain if (value := getattr(self, name))]
        flags += [f"--priority={self.priority}"] if self.priority != 2 else []
        flags += [f"--type={self.type}"] if self.type != "task" else []
        flags += [f"--labels={','.join(self.labels)}"] if self.labels else []
        deps = [*self.depends_on, *(f"blocks:{each}" for each in self.blocks)]
        flags += [f"--deps={','.join(deps)}"] if deps else []
        for name, value in self.flags.items():
            given = (value,) if isinstance(value, str) else value
            flags += [f"--{name}={each}" for each in given]
        return ["fleet", "bd", "create", self.title, *flags]


class _TaskAct(Act, frozen=True, kw_only=True):
    """An act on one task."""

    id: TaskId


class AnswerAct(_TaskAct, frozen=True, kw_only=True):
    """Answer what an agent asks."""

    verb = "answer"
    role = "answer"

    text: Text
    #: Also a task that asks nothing.
    force: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.tasks.questions import answer, answered_words

        at = datetime.now().astimezone()
        done = answer(fleet, fleet.get(self.id), self.text, at=at, force=self.force)
        return answered_words(done), done

    def line(self) -> list[str]:
        return _flags(["fleet", "answer", self.id, self.text], force=self.force)


class TellAct(_TaskAct, frozen=True, kw_only=True):
    """Tell a task's agent something."""

    verb = "tell"
    role = "answer"

    text: Text
    #: Stop the agent, and carry the session on with the message.
    now: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.tasks.tell import tell

        task = fleet.get(self.id)
        left = tell(fleet, task, self.text, now=self.now)
        return left.told(task.id), left

    def line(self) -> list[str]:
        return _flags(["fleet", "tell", self.id, self.text], now=self.now)


class StopAct(_TaskAct, frozen=True, kw_only=True):
    """End a task's run."""

    verb = "stop"

    #: Kill the run, without the time to end by itself.
    now: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.tasks.stop import stop

        end = stop(fleet, self.id, now=self.now)
        return end.words, end

    def line(self) -> list[str]:
        return _flags(["fleet", "stop", self.id], now=self.now)


class RetryAct(_TaskAct, frozen=True, kw_only=True):
    """Put a task back into the queue."""

    verb = "retry"

    #: What the task may spend from now on, like `$10`.
    budget: LineText | None = None
    #: A new clone, and a new session.
    fresh: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.acts.task_flags import budget_from
        from fleet.control.tasks.retry import retried_words, retry

        budget = None if self.budget is None else budget_from(self.budget)
        done = retry(fleet, fleet.get(self.id), budget=budget, fresh=self.fresh)
        return retried_words(done, fresh=self.fresh), done

    def line(self) -> list[str]:
        line = _flags(["fleet", "retry", self.id], fresh=self.fresh)
        return [*line, *(["--budget", self.budget] if self.budget else [])]


class PauseAct(Act, frozen=True, kw_only=True):
    """Start no new runs."""

    verb = "pause"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.pause import pause, paused_words

        return paused_words(pause(fleet.home)), None

    def line(self) -> list[str]:
        return ["fleet", "pause"]


class ResumeAct(Act, frozen=True, kw_only=True):
    """Start runs again."""

    verb = "resume"

    #: A coder whose held logins get work again; nothing else is resumed then.
    coder: LineText | None = None
    retry_stopped: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.pause import unpause, unpaused_words
        from fleet.control.resume import resume_coder
        from fleet.control.tasks.stop_all import try_stopped

        if self.coder is not None:
            return resume_coder(fleet, self.coder), None
        words = unpaused_words(unpause(fleet.home))
        return words, try_stopped(fleet) if self.retry_stopped else None

    def line(self) -> list[str]:
        coder = ["--coder", self.coder] if self.coder else []
        return [*_flags(["fleet", "resume", *coder], retry_stopped=self.retry_stopped)]


class StopAllAct(Act, frozen=True, kw_only=True):
    """End every run."""

    verb = "stop_all"

    #: The word `stop`, typed by the person.
    confirm: str
    now: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.tasks.stop_all import stop_all

        if self.confirm != "stop":
            raise BadInput("to stop everything, confirm it with the word stop")
        end = stop_all(fleet.home, now=self.now, env=fleet.env)
        return end.words, end

    def line(self) -> list[str]:
        return _flags(["fleet", "stop", "--all"], now=self.now)


class CommentOnLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a review says of one line of the diff."""

    path: LineText
    line: Annotated[int, Meta(ge=1)]
    text: Text


class RejectAct(_TaskAct, frozen=True, kw_only=True):
    """Send work back."""

    verb = "reject"

    text: str = ""
    comments: tuple[CommentOnLine, ...] = ()

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.review.review import remarks_on, send_back, work_of

        task = fleet.get(self.id)
        comments = [(each.path, each.line, each.text) for each in self.comments]
        remarks = remarks_on(work_of(fleet, task.id), comments) if comments else ()
        done = send_back(fleet, task, whole=self.text, remarks=remarks)
        return done.told(task.id), done

    def line(self) -> list[str]:
        flags = ["--reject", self.text] if self.text else []
        for each in self.comments:
            flags += ["--comment", f"{each.path}:{each.line}", each.text]
        return ["fleet", "review", self.id, *flags]


class ApproveAct(_TaskAct, frozen=True, kw_only=True):
    """Let work land."""

    verb = "approve"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.landing.approve import approve

        (landing,) = approve(fleet, [fleet.get(self.id).id])
        return f"Approved: {landing.words()}.", landing

    def line(self) -> list[str]:
        return ["fleet", "review", self.id, "--approve"]


class LandAct(_TaskAct, frozen=True, kw_only=True):
    """Approve work and land it."""

    verb = "land"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.landing.land import land

        task_id = fleet.get(self.id).id
        end = land(fleet, [task_id], wait=False, tell=lambda _: None)
        sentences = [f"{each} has landed." for each in end.landed]
        sentences += [f"{each}: {words}." for each, words in end.left if each == task_id]
        return " ".join(sentences), end

    def line(self) -> list[str]:
        return ["fleet", "land", self.id]


class HoldAct(_TaskAct, frozen=True, kw_only=True):
    """Keep work from landing."""

    verb = "hold"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.landing.approve import hold

        landing = hold(fleet, task_id := fleet.get(self.id).id)
        return f"{task_id}: {one_line(landing.words())}.", landing

    def line(self) -> list[str]:
        return ["fleet", "land", "--hold", self.id]


class ReleaseAct(_TaskAct, frozen=True, kw_only=True):
    """Let held work land again."""

    verb = "release"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.landing.approve import release

        landing = release(fleet, task_id := fleet.get(self.id).id)
        return f"{task_id}: {one_line(landing.words())}.", landing

    def line(self) -> list[str]:
        return ["fleet", "land", "--release", self.id]


class RevertAct(_TaskAct, frozen=True, kw_only=True):
    """Take landed work off its branch."""

    verb = "revert"

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.landing.revert import revert

        end = revert(fleet, fleet.get(self.id))
        return end.words, end

    def line(self) -> list[str]:
        return ["fleet", "land", "--revert", self.id]


class PickAct(_TaskAct, frozen=True, kw_only=True):
    """Land one entry of a comparison."""

    verb = "pick"

    entry: LineText
    force: bool = False

    def do(self, fleet: Control) -> ActResult:
        from fleet.control.compare.finish import pick

        end = pick(fleet, fleet.get(self.id), self.entry, force=self.force)
        return end.words, end

    def line(self) -> list[str]:
        return _flags(["fleet", "compare", self.id, "--pick", self.entry], force=self.force)


def _flags(line: Sequence[str], **flags: bool) -> list[str]:
    return [*line, *(f"--{name.replace('_', '-')}" for name, given in flags.items() if given)]
