"""Commands that destroy what lies outside of the project."""

from fleet.evidence.destroyed import destroyed, why_destroyed_asks
from fleet.schemas import Command


def test_they_are_named_with_what_they_do():
    """Also one that failed: the box threw it away, and not what was meant. One that was refused
    never ran.
    """
    commands = [
        Command(text="rm -rf /tmp/other/node_modules", failed=True),
        Command(text="rm -rf build && make"),
        Command(text="git push --force", denied=True),
        Command(text="git reset --hard"),
    ]
    (found,) = destroyed(commands, "/srv/app", "/notes")
    assert found.startswith("`rm -rf /tmp/other/node_modules` deletes /tmp/other/node_modules")


def test_a_person_is_asked_with_the_first_of_them():
    """And told how many more there are; without any nobody is asked."""
    assert why_destroyed_asks(()) == ()
    assert why_destroyed_asks(("`a` deletes", "`b` deletes")) == (
        "outside of the project it ran `a` deletes and 1 more",
    )
