"""The plan that an agent wrote is read like any other, and nothing that it points at is."""

import pytest

from fleet.errors import BadInput, InvalidTask
from fleet.plan.proposed_plan import read_proposed_plan
from tests.plans import DATA


@pytest.fixture
def plan(tmp_path):
    """Where an agent would leave its plan."""
    (tmp_path / "artifacts").mkdir()
    return tmp_path / "artifacts/PLAN.toml"


def test_a_plan_among_the_artifacts_is_read(plan, tmp_path):
    plan.write_text((DATA / "reset.toml").read_text())
    assert read_proposed_plan(tmp_path, limit=3).title == "Password reset"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no PLAN.toml"),
        ("", "there is no PLAN.toml"),
        ('title = "a"\n', "PLAN.toml holds no tasks"),
        ('[[task]]\nkey = "a"\ntitle = "b"\nbody = "c"\n', r"PLAN.toml:1: the plan has no title"),
        (
            'title = "a"\n[[task]]\nkey = "a"\ntitle = "b"\n',
            r"PLAN.toml:2: a: the task has no body",
        ),
        ("title = 'a\n", r"PLAN.toml:1: this is not TOML"),
    ],
)
def test_a_plan_that_cannot_be_used_is_told_with_its_line(plan, tmp_path, text, words):
    """The agent is told the same words."""
    if text is not None:
        plan.write_text(text)
    with pytest.raises(BadInput, match=words):
        read_proposed_plan(tmp_path, limit=3)


def test_a_link_in_place_of_a_plan_is_not_followed(plan, tmp_path):
    """It could lead to a file of the operator's, whose lines errors would tell."""
    plan.symlink_to(DATA / "reset.toml")
    with pytest.raises(InvalidTask):
        read_proposed_plan(tmp_path, limit=3)
