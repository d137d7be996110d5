"""What a person can ask of fleet, one value a verb: the fields that each verb takes.

A field that is not known is refused, so that a misspelt one is not silently left out.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

#: A text that a person typed; no request has a reason to be longer.
Text = Annotated[str, Meta(min_length=1, max_length=200_000)]
LineText = Annotated[str, Meta(min_length=1, max_length=2000)]
TaskId = Annotated[str, Meta(min_length=1, max_length=128)]


class _ActWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of one verb."""


class CreateWish(_ActWish, frozen=True, kw_only=True):
    """A new task: what `fleet bd create` takes."""

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


class AnswerWish(_ActWish, frozen=True, kw_only=True):
    """An answer to what an agent asks."""

    id: TaskId
    text: Text
    #: Also a task that asks nothing.
    force: bool = False


class TellWish(_ActWish, frozen=True, kw_only=True):
    """A message for a task's agent."""

    id: TaskId
    text: Text
    #: Stop the agent, and carry the session on with the message.
    now: bool = False


class StopWish(_ActWish, frozen=True, kw_only=True):
    """End a task's run."""

    id: TaskId
    #: Kill the run, without the time to end by itself.
    now: bool = False


class RetryWish(_ActWish, frozen=True, kw_only=True):
    """Put a task back into the queue, with attempts counted anew."""

    id: TaskId
    #: What the task may spend from now on, like `$10`.
    budget: LineText | None = None
    #: A new clone, and a new session.
    fresh: bool = False


class PauseWish(_ActWish, frozen=True, kw_only=True):
    """Start no new runs."""


class ResumeWish(_ActWish, frozen=True, kw_only=True):
    """Start runs again, or give a held coder work again."""

    coder: LineText | None = None
    retry_stopped: bool = False


class StopAllWish(_ActWish, frozen=True, kw_only=True):
    """End every run of this home, and pause."""

    #: The word `stop`, typed by the person.
    confirm: str
    now: bool = False


class CommentOnLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a review says of one line of the diff."""

    path: LineText
    line: Annotated[int, Meta(ge=1)]
    text: Text


class RejectWish(_ActWish, frozen=True, kw_only=True):
    """Send work back to the session that did it."""

    id: TaskId
    text: str = ""
    comments: tuple[CommentOnLine, ...] = ()


class OneTaskWish(_ActWish, frozen=True, kw_only=True):
    """A verb that needs nothing but the task."""

    id: TaskId


class PickWish(_ActWish, frozen=True, kw_only=True):
    """Land one entry of a comparison, and put the others away."""

    id: TaskId
    entry: LineText
    force: bool = False


WishFields = dict[str, Any]
