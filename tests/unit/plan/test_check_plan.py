"""A plan that cannot be applied is refused whole, with every problem and its line."""

import pytest
from msgspec.structs import replace

from fleet.errors import BadInput
from fleet.plan.check_plan import check_plan
from fleet.plan.neutral_plan import Plan
from tests.plans import a_plan


def check(plan, limit=100):
    return check_plan(plan, limit=limit, name="plan.toml")


def changed(**fields):
    """A plan of two whose second task has other fields."""
    plan = a_plan({"a": "", "b": "a"})
    return replace(plan, tasks=(plan.tasks[0], replace(plan.tasks[1], **fields)))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (changed(key=""), "plan.toml:2: the task has no key"),
        (changed(key="a b"), "plan.toml:2: a b: a key is one word"),
        (changed(key="@acceptance"), "a key is one word"),
        (changed(key="a", after=()), "plan.toml:2: the key 'a' stands twice: first at plan.toml:1"),
        (changed(title=" "), "plan.toml:2: b: the task has no title"),
        (changed(title="x" * 501), "the title has 501 letters"),
        (changed(body="\n"), "plan.toml:2: b: the task has no body"),
        (changed(after=("c",)), "plan.toml:2: b waits for 'c', which is not in the plan"),
        (changed(after=("b",)), "plan.toml:2: b waits for itself"),
        (changed(parent="c"), "plan.toml:2: b belongs to 'c', which is not in the plan"),
        (changed(priority=5), "the priority must be between 0 and 4"),
        (changed(coder="claude"), "a coder and its model go together"),
        (changed(expect="joy"), "cannot be expected to leave 'joy'"),
        (changed(scope=("../x",)), "leads out of the task's directory"),
        (changed(verify=("a\nb",)), "a verify command is one line"),
        (Plan(), "holds no tasks"),
    ],
)
def test_each_problem_is_told_with_its_place(plan, words):
    with pytest.raises(BadInput) as raised:
        check(plan)
    assert words in raised.value.message


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"a": "c", "b": "a", "c": "b"}, "a → c → b → a"),
        ({"a": "", "b": "c", "c": "b"}, "b → c → b"),
    ],
)
def test_tasks_that_wait_for_each_other_are_named_in_their_order(after, circle):
    """The reader sees where to cut."""
    with pytest.raises(BadInput) as raised:
        check(a_plan(after))
    assert sorted(circle.split(" → ")[1:]) == sorted(
        raised.value.message.split(": ")[-1].split(" → ")[1:]
    )


def test_a_task_that_waits_for_its_own_group_is_a_circle():
    plan = a_plan({"g": "", "a": "g"})
    tasks = (plan.tasks[0], replace(plan.tasks[1], parent="g"))
    with pytest.raises(BadInput, match="wait for each other: a → a"):
        check(replace(plan, tasks=tasks))


def test_groups_that_hold_each_other_are_refused():
    plan = a_plan({"a": "", "b": ""})
    tasks = tuple(replace(t, parent=p) for t, p in zip(plan.tasks, "ba", strict=True))
    with pytest.raises(BadInput, match="groups hold each other"):
        check(replace(plan, tasks=tasks))


def test_a_plan_over_the_limit_is_refused_with_the_way_out():
    """What is ticked already does not count."""
    plan = a_plan(dict.fromkeys("abc", ""))
    with pytest.raises(BadInput, match="holds 3 tasks") as raised:
        check(plan, limit=2)
    assert "plan_limit=3" in raised.value.hint
    done = replace(plan, tasks=(replace(plan.tasks[0], done=True), *plan.tasks[1:]))
    assert check(done, limit=2) == done


def test_many_problems_are_told_at_once_and_not_without_end():
    plan = a_plan({f"t{n}": "nowhere" for n in range(30)})
    with pytest.raises(BadInput) as raised:
        check(plan)
    assert raised.value.message.count("nowhere") == 10
    assert "and 20 more" in raised.value.message
