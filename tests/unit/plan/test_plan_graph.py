"""Waves, the longest chain, and files that two tasks of a wave name."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fleet.plan.plan_graph import claimed_twice, graph_of, waits_of
from tests.plans import a_plan


def with_fields(plan, **fields):
    """The plan with fields of some tasks set, by their keys."""
    tasks = tuple(replace(task, **fields.get(task.key, {})) for task in plan.tasks)
    return replace(plan, tasks=tasks)


def test_a_wave_is_what_could_run_together():
    graph = graph_of(a_plan({"a": "", "b": "a", "c": "a", "d": "b c", "e": ""}))
    assert graph.waves == [("a", "e"), ("b", "c"), ("d",)]
    assert graph.longest == ("a", "b", "d")
    assert graph.widest == 2


def test_a_group_stands_for_the_work_in_it_and_passes_its_waits_on():
    """A group never runs, so a task cannot wait for the group itself."""
    plan = a_plan({"x": "", "g": "x", "a": "", "b": "a", "y": "g"})
    plan = with_fields(plan, a={"parent": "g"}, b={"parent": "g"})
    assert waits_of(plan) == {"x": (), "a": ("x",), "b": ("x", "a"), "y": ("a", "b")}


def test_a_tick_in_the_middle_of_a_chain_does_not_cut_it():
    """The end must not run before the beginning."""
    plan = with_fields(a_plan({"a": "", "b": "a", "c": "b"}), b={"done": True})
    assert waits_of(plan) == {"a": (), "c": ("a",)}


def test_files_are_compared_within_a_wave_only():
    plan = a_plan({"a": "", "b": "", "c": "a"})
    files = {"files": ("x.py",)}
    plan = with_fields(plan, a=files, b=files, c=files)
    assert claimed_twice(plan, graph_of(plan)) == {"x.py": ("a", "b")}


@given(st.lists(st.sets(st.integers(0, 14), max_size=4), min_size=1, max_size=15))
def test_every_task_runs_in_a_wave_after_all_that_it_waits_for(edges):
    """For any plan without a circle; the longest chain has as many tasks as there are waves."""
    plan = a_plan({f"t{n}": " ".join(f"t{m}" for m in on if m < n) for n, on in enumerate(edges)})
    graph = graph_of(plan)
    wave = {key: number for number, keys in enumerate(graph.waves) for key in keys}
    assert len(wave) == len(edges)
    assert all(wave[other] < wave[key] for key, on in graph.waits.items() for other in on)
    assert len(graph.longest) == len(graph.waves)
