"""The graph of a plan: what each task waits for, in which waves the tasks run, the longest chain,
and which files two tasks of one wave name. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct

from fleet.plan.neutral_plan import Plan, PlannedTask


class PlanGraph(Struct, frozen=True, kw_only=True):
    """The work of a plan: tasks that are no groups and that are not done."""

    #: For each task the tasks that it waits for, groups and done tasks replaced.
    waits: Mapping[str, tuple[str, ...]]
    #: Tasks that could run together, if there were room for all of them.
    waves: Sequence[tuple[str, ...]]
    #: The tasks of a longest chain, in their order.
    longest: tuple[str, ...]

    @property
    def widest(self) -> int:
        """How many tasks the largest wave has."""
        return max(map(len, self.waves), default=0)


def groups_of(plan: Plan) -> frozenset[str]:
    """The keys of tasks that others name as their parent."""
    return frozenset(task.parent for task in plan.tasks if task.parent)


def graph_of(plan: Plan) -> PlanGraph:
    """The graph of a plan that was checked."""
    waits = waits_of(plan)
    waves = waves_of(waits)
    return PlanGraph(waits=waits, waves=waves, longest=_longest(waits, waves))


def waits_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """For each task of work, in the plan's order: what the task waits for, directly or by its
    groups.

    A group stands for the work in it. A task that is done stands for what it had waited for: a
    tick in the middle of a chain must not let the end of the chain run before its beginning.
    """
    resolver = _Resolver(plan)
    return {
        task.key: tuple(sorted(resolver.before(task), key=resolver.position))
        for task in plan.tasks
        if resolver.is_work(task.key)
    }


class _Resolver:
    def __init__(self, plan: Plan) -> None:
        self._tasks = {task.key: task for task in plan.tasks}
        self._order = {task.key: number for number, task in enumerate(plan.tasks)}
        self._children: dict[str, list[str]] = {}
        for task in plan.tasks:
            if task.parent:
                self._children.setdefault(task.parent, []).append(task.key)
        self._known: dict[str, frozenset[str]] = {}

    def position(self, key: str) -> int:
        return self._order[key]

    def is_work(self, key: str) -> bool:
        return key not in self._children and not self._tasks[key].done

    def before(self, task: PlannedTask) -> set[str]:
        found: set[str] = set()
        line: PlannedTask | None = task
        seen: set[str] = set()
        while line is not None and line.key not in seen:
            seen.add(line.key)
            for key in line.after:
                found |= self._stands_for(key)
            line = self._tasks.get(line.parent) if line.parent else None
        return found

    def _stands_for(self, key: str) -> frozenset[str]:
        """The work that has to be done before this key counts as done."""
        if key in self._known:
            return self._known[key]
        self._known[key] = frozenset()  # a circle ends here; the check of the plan tells of it
        if key not in self._tasks:
            found: frozenset[str] = frozenset()
        elif key in self._children:
            parts = (self._stands_for(child) for child in self._children[key])
            found = frozenset(each for part in parts for each in part)
        elif self._tasks[key].done:
            found = frozenset(self.before(self._tasks[key]))
        else:
            found = frozenset((key,))
        self._known[key] = found
        return found


def circle_in(waits: Mapping[str, Iterable[str]]) -> list[str]:
    """Tasks that wait for each other, the first named again at the end; empty if there are none."""
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []


def waves_of(waits: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Tasks that could run together, wave after wave; each wave in the plan's order."""
    sorter = TopologicalSorter(waits)
    sorter.prepare()
    order = {key: number for number, key in enumerate(waits)}
    waves: list[tuple[str, ...]] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        waves.append(tuple(sorted(ready, key=order.__getitem__)))
        sorter.done(*ready)
    return waves


def _longest(
    waits: Mapping[str, tuple[str, ...]], waves: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """A task of wave n waits for one of wave n - 1: the chain back from the last wave."""
    number = {key: n for n, wave in enumerate(waves) for key in wave}
    chain: list[str] = [waves[-1][0]] if waves else []
    while chain and number[chain[-1]]:
        before = waits[chain[-1]]
        chain.append(next(key for key in before if number[key] == number[chain[-1]] - 1))
    return tuple(reversed(chain))


def claimed_twice(plan: Plan, graph: PlanGraph) -> dict[str, tuple[str, ...]]:
    """Files that two or more tasks of one wave name: these tasks may run into each other."""
    named = {task.key: (*task.files, *(task.scope or ())) for task in plan.tasks}
    found: dict[str, tuple[str, ...]] = {}
    for wave in graph.waves:
        claims: dict[str, list[str]] = {}
        for key in wave:
            for file in dict.fromkeys(named[key]):
                claims.setdefault(file, []).append(key)
        found |= {file: tuple(keys) for file, keys in claims.items() if len(keys) > 1}
    return found
