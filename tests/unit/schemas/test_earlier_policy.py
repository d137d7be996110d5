"""A run that an earlier fleet began is held to the rules that it began under."""

import json

import pytest

from fleet.runs.run_directory import RunSpec
from fleet.schemas import Policy, typed

#: The parts of run.json that have other names today.
EARLIER = {
    "argv": ["x"],
    "cwd": "/",
    "policy": {
        "expect": "any",
        "require": "checked",
        "isolation": "clone",
        "copies": {"project": "/srv", "verify_in": "checkout"},
        "land": {"mode": "auto", "into": "main"},
    },
}


@pytest.mark.parametrize(
    ("isolation", "require", "mode", "today"),
    [
        ("clone", "checked", "auto", ("clone", "checked", "auto")),
        ("worktree", "plausible", "ask", ("clone", "approved", "ask")),
        ("none", "plausible", "off", ("directory", "approved", "branch")),
    ],
)
def test_a_policy_of_an_earlier_fleet_is_read(isolation, require, mode, today):
    """Also one whose every word is a word of today."""
    policy = EARLIER["policy"] | {"isolation": isolation, "require": require}
    record = EARLIER | {"policy": policy | {"land": {"mode": mode, "into": "main"}}}
    found = typed.decode(json.dumps(record), RunSpec).policy
    assert (found.work_in, found.require, found.land.mode) == today
    assert (found.copies.project, found.land.into) == ("/srv", "main")


def test_a_policy_of_today_is_read_as_it_stands():
    """The default of a run without rules of its own."""
    assert typed.decode('{"argv": [], "cwd": "/"}', RunSpec).policy == Policy()
