"""What is found to be loaded twice, and what is not."""

from fleet.doctor.context.load import Load, digest, duplicates
from fleet.files.lenient_read import Content


def load(kind, name, origin="user", content="", *, tokens=10):
    place = f"/{origin}/{name}"
    return Load(kind=kind, name=name, origin=origin, where=place, tokens=tokens, digest=content)


def twice(*loads):
    return duplicates(loads, "claude")


def test_a_skill_in_three_places_costs_two_too_many():
    """The project's stays; the fix names the others."""
    (each,) = twice(
        load("skill", "a", "project", "x"), load("skill", "a", "user", "x"),
        load("skill", "p:a", "plugin", "x"), load("skill", "b", "user", "y"),
    )  # fmt: skip
    assert (each.what, each.tokens) == ("skill a", 20)
    assert each.places == ("/plugin/p:a", "/user/a", "/project/a")
    assert each.fix == "claude plugin disable p; rm -r /user"


def test_only_the_same_content_is_a_duplicate():
    """The same name with another content, or with an unknown one, is none."""
    assert twice(load("skill", "a", "user", "x"), load("skill", "a", "project", "y")) == ()
    assert twice(load("server", "a", "user"), load("server", "a", "project")) == ()


def test_one_server_under_two_names_is_found():
    """By what is started, not by what it is called."""
    (each,) = twice(load("server", "a", content="npx x"), load("server", "b", content="npx x"))
    assert each.what == "server a and b"


def test_a_server_whose_cost_is_not_known_is_not_free():
    """Unknown, never nought."""
    (each,) = twice(
        load("server", "a", "user", "x", tokens=None),
        load("server", "a", "project", "x", tokens=None),
    )
    assert each.tokens is None


def test_different_kinds_of_one_content_are_no_duplicates():
    """A skill and an agent."""
    assert twice(load("skill", "a", content="x"), load("agent", "a", content="x")) == ()


def test_equal_files_have_equal_digests():
    """A blank file, and one that was not read whole, has none."""
    one, other = Content(data=b"# Rules\n", size=8), Content(data=b"\n# Rules\n\n", size=10)
    assert digest(one) == digest(other) != ""
    assert digest(Content(data=b"# Rule\n", size=7)) != digest(one)
    assert digest(Content(data=b" \n", size=2)) == ""
    assert digest(Content(data=b"# Rules\n", size=9)) == ""


def test_the_dearest_come_first():
    """That is where to begin."""
    found = twice(
        load("skill", "a", "user", "x", tokens=1), load("skill", "a", "project", "x", tokens=1),
        load("skill", "b", "user", "y", tokens=9), load("skill", "b", "project", "y", tokens=9),
    )  # fmt: skip
    assert [each.tokens for each in found] == [9, 1]
