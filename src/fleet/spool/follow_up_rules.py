"""Which follow-ups an agent may make, and what they have from the task that they follow. Pure."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from fleet.errors import Refused
from fleet.home.task_json import recorded_settings
from fleet.schemas import Dependency, Settings, Task

#: The dependency that leads from a follow-up to the task that it follows.
FOLLOWS = "discovered-from"
#: Proposals that one run may make, and those below one task of a person's; how many in a row.
PROPOSED_A_RUN, PROPOSED_A_TREE, PROPOSED_DEPTH = 5, 20, 2


def inherited(parent: Settings, *, task: str, depth_limit: int) -> Settings:
    """The settings of a follow-up: all of the parent's, one step further from a person's own task.

    `task` is the parent's id. Raises Refused at the limit.
    """
    depth = parent.depth + 1
    if depth > depth_limit:
        raise Refused(
            f"this task is itself a follow-up, and {depth_limit} in a row is as far as they go"
            " (followup_depth)",
            hint="Put what is left to do into the reason that you close this task with.",
        )
    return structs.replace(parent, depth=depth, root=parent.root or task, commit=None)


def check_count(made: int, wanted: int, limit: int) -> None:
    """Refuse more follow-ups than a run may make."""
    if made + wanted > limit:
        raise Refused(
            f"a run may make {limit} follow-ups (followup_limit); this one has made {made}",
            hint="Put what is left to do into one of them, or into a comment: bd comment",
        )


def check_proposals(in_run: int, in_tree: int, depth: int) -> None:
    """Refuse a proposal beyond what a run, a tree of tasks or a row of them may have."""
    way = "Put what is left to do into the reason that you close this task with."
    if depth >= PROPOSED_DEPTH:
        raise Refused(
            f"this task was itself proposed, and {PROPOSED_DEPTH} in a row is as far as it goes",
            hint=way,
        )
    if in_run >= PROPOSED_A_RUN:
        raise Refused(f"a run may propose {PROPOSED_A_RUN} tasks", hint=way)
    if in_tree >= PROPOSED_A_TREE:
        raise Refused(f"{PROPOSED_A_TREE} tasks came of one task by now", hint=way)


def check_made(
    made: Sequence[Task],
    edges: Sequence[Dependency],
    settings: Settings,
    *,
    task: str,
    known: Sequence[str],
    held: bool = False,
) -> None:
    """Hold what a line has made against the rules, whatever the words of the line. Raises Refused.

    `edges` are all edges that the new tasks have, and `known` the ids that they may lead to.
    `held`: they wait for a person.
    """
    own = msgspec.to_builtins(settings)
    mine = {task, *known, *(each.id for each in made)}
    for each in made:
        if recorded_settings(each) != settings or set(each.metadata.get("fleet", {})) - set(own):
            raise Refused(
                f"{each.title!r} sets what only people set (metadata.fleet)",
                hint="A follow-up runs where and as its parent does.",
            )
        if each.status != ("blocked" if held else "open") or each.assignee:
            raise Refused(
                f"{each.title!r} has a status or an assignee of its own",
                hint="A follow-up is open, and fleet finds an agent for it.",
            )
    for edge in edges:
        for end in (edge.task_id, edge.depends_on_id):
            if end not in mine:
                raise Refused(
                    f"{end} is neither the task of this run ({task}) nor a follow-up of it",
                    hint=f"An agent connects only these; of {end} say it in a comment: bd comment",
                )
