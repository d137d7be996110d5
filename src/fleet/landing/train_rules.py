"""How a train is put together and taken apart: rules over the ids of tasks and trees. Pure.

Candidates that wait are verified together. If that fails the batch is split in two, and each part
is tried by itself; no candidate that came later joins a part, so that one broken candidate cannot
hold up those behind it again and again. What is known of a tree is not asked for twice.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

#: How many trees with their passed checks are remembered.
KEPT_PROOFS = 500


class Parts(Struct, frozen=True):
    """The parts of a batch that are still to be tried, in order."""

    waiting: tuple[tuple[str, ...], ...]

    @property
    def first(self) -> tuple[str, ...]:
        return self.waiting[0] if self.waiting else ()

    @property
    def rest(self) -> "Parts":
        """Without the first part: it has landed, or its only candidate went back."""
        return Parts(self.waiting[1:])

    def without(self, task_ids: Iterable[str]) -> "Parts":
        """Without candidates that left the train: a conflict, or a person held them."""
        gone = frozenset(task_ids)
        kept = [tuple(each for each in part if each not in gone) for part in self.waiting]
        return Parts(tuple(part for part in kept if part))

    def split(self) -> "Parts":
        """The first part, which failed, as two."""
        part = self.first
        middle = (len(part) + 1) // 2
        return Parts((part[:middle], part[middle:], *self.waiting[1:]))


def batch(waiting: Sequence[str], size: int) -> Parts:
    """The candidates to begin with, of those that wait, in the order of the queue."""
    first = tuple(waiting[: max(1, size)])
    return Parts((first,) if first else ())


def size_after(size: int, limit: int, *, green: bool) -> int:
    """How many candidates the next batch has: one more after a success, half after a failure."""
    wanted = size + 1 if green else size // 2
    return max(1, min(wanted, limit))


class Proofs(Struct, frozen=True):
    """The checks that passed on each tree, oldest tree first, and those that failed."""

    passed: Mapping[str, frozenset[str]] = {}
    failed: Mapping[str, frozenset[str]] = {}

    def missing(self, tree: str, checks: Sequence[str]) -> tuple[str, ...]:
        """The checks that have not passed on a tree yet."""
        known = self.passed.get(tree, frozenset())
        return tuple(check for check in checks if check not in known)

    def is_red(self, tree: str, checks: Sequence[str]) -> bool:
        """One of these checks failed on the tree: it would fail again."""
        return not self.failed.get(tree, frozenset()).isdisjoint(checks)

    def failing(self, tree: str, checks: Sequence[str]) -> str:
        """The first of these checks that failed on a tree; empty: none did."""
        known = self.failed.get(tree, frozenset())
        return next((check for check in checks if check in known), "")

    def green(self, tree: str, checks: Iterable[str]) -> "Proofs":
        both = self.passed.get(tree, frozenset()) | frozenset(checks)
        others = {name: known for name, known in self.passed.items() if name != tree}
        kept = list({**others, tree: both}.items())[-KEPT_PROOFS:]
        return structs.replace(self, passed=dict(kept))

    def red(self, tree: str, check: str) -> "Proofs":
        both = self.failed.get(tree, frozenset()) | {check}
        return structs.replace(self, failed={**self.failed, tree: both})
