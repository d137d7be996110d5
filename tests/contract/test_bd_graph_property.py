"""Whatever edges are asked for in whatever order, no tasks ever wait in a circle."""

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from tests.conftest import often
from tests.contract.bd_answers import Bd, Clock
from tests.contract.postgres_server import empty

NAMES = "abcdef"
BLOCKING = ("blocks", "conditional-blocks")
KINDS = (*BLOCKING, "parent-child", "related")

pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), pairs, st.sampled_from(KINDS)),
        st.tuples(st.just("remove"), pairs, st.none()),
        st.tuples(st.just("close"), st.sampled_from(NAMES), st.none()),
    ),
    max_size=25,
)


class Model:
    """The graph as one would draw it: edges by pair, and who is done."""

    def __init__(self):
        self.edges = {}
        self.closed = set()

    def above(self, name):
        """A task, its parents, their parents."""
        line = {name}
        while more := {b for (a, b), k in self.edges.items() if k == "parent-child" and a in line}:
            if more <= line:
                break
            line |= more
        return line

    def ready(self):
        open_ = [name for name in NAMES if name not in self.closed]
        return [name for name in open_ if not self.held_up(name)]

    def held_up(self, name):
        return any(
            a in self.above(name) and kind in BLOCKING and b not in self.closed
            for (a, b), kind in self.edges.items()
        )

    def has_reason_to_refuse(self, a, b, kind):
        """Only itself, another edge of that pair, its own family, or a circle."""
        if a == b or self.edges.get((a, b), kind) != kind:
            return True
        if a in self.above(b) or (kind in BLOCKING and b in self.above(a)):
            return True
        after = Model()
        after.edges = {**self.edges, (a, b): kind}
        return after.waits_in_a_circle()

    def waits_in_a_circle(self):
        """Is there a task that could not become ready even if all that is ready were done?"""
        done = set(self.closed)
        while True:
            free = [
                name
                for name in NAMES
                if name not in done
                and not any(
                    a in self.above(name) and kind in BLOCKING and b not in done
                    for (a, b), kind in self.edges.items()
                )
            ]
            if not free:
                return len(done) < len(NAMES)
            done |= set(free)


def check(open_bd, history):
    bd = open_bd()
    model = Model()
    bd.tasks(*NAMES)
    try:
        for action, what, kind in history:
            if action == "close":
                bd.ok(f"close fleet-{what} --force")
                model.closed.add(what)
                continue
            a, b = what
            if action == "add":
                said = bd(f"dep add fleet-{a} fleet-{b} -t {kind}")
                if said.code == 0:
                    model.edges[a, b] = kind
                else:
                    assert model.has_reason_to_refuse(a, b, kind)
            else:
                bd.ok(f"dep remove fleet-{a} fleet-{b}")
                model.edges.pop((a, b), None)
            assert not model.waits_in_a_circle()
            assert sorted(row["id"][-1] for row in bd.json("ready")) == model.ready()
        assert bd.json("dep cycles") == []
    finally:
        bd.queue.close()


def test_no_history_of_edges_leaves_a_circle(tmp_path):
    """On SQLite, after every step, ready is what the drawing says and everything can end."""
    homes = (tmp_path / str(n) for n in itertools.count())

    def open_bd():
        home = next(homes)
        home.mkdir()
        time = Clock()
        return Bd(open_embedded(home, clock=time), time)

    bounded(often(30, 80))(lambda history: check(open_bd, history))


def test_no_history_of_edges_leaves_a_circle_on_postgres(postgres_dsn):
    """The same on PostgreSQL."""

    def open_bd():
        empty(postgres_dsn)
        time = Clock()
        return Bd(open_postgres(postgres_dsn, clock=time), time)

    bounded(often(12, 25))(lambda history: check(open_bd, history))


def bounded(examples):
    def run(fact):
        settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))(
            given(history=steps)(fact)
        )()

    return run


def test_the_model_itself_sees_a_circle():
    """A model that never finds one would prove nothing."""
    model = Model()
    model.edges = {("a", "b"): "blocks", ("b", "c"): "blocks"}
    assert not model.waits_in_a_circle()
    assert model.ready() == ["c", "d", "e", "f"]
    model.edges["c", "a"] = "blocks"
    assert model.waits_in_a_circle()
    model.edges = {("a", "b"): "parent-child", ("b", "c"): "blocks", ("c", "a"): "blocks"}
    assert model.waits_in_a_circle()
