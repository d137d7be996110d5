"""What is found to be loaded twice, and what is not."""

import time

from fleet.doctor.context.duplicates import found
from fleet.doctor.context.load import Load, Piece, digest

LONG = "Never push to the main branch, open a pull request and wait for somebody to look at it."
NEAR = "Never push to the main branch; open a pull request and wait for someone to look at it!"


def piece(kind, name, origin="user", text="", *, tokens=10, same=None):
    place = f"/{origin}/{name}"
    load = Load(kind=kind, name=name, origin=origin, where=place, tokens=tokens)
    return Piece(load=load, text=text, same=digest(text) if same is None else same)


def twice(*pieces):
    return found(pieces, lambda load: f"drop {load.origin}:{load.name}")


def test_a_skill_in_three_places_costs_two_too_many():
    """The project's stays; the fix names the others."""
    (each,) = twice(
        piece("skill", "a", "project", "x"), piece("skill", "a", "user", "x"),
        piece("skill", "p:a", "plugin", "x"), piece("skill", "b", "user", "y"),
    )  # fmt: skip
    assert (each.what, each.tokens) == ("skill a", 20)
    assert each.places == ("/plugin/p:a", "/user/a", "/project/a")
    assert each.fix == "drop plugin:p:a; drop user:a"


def test_the_same_name_with_another_content_is_told_as_such():
    """One of them is not what its caller thinks."""
    (each,) = twice(piece("skill", "a", "user", "x"), piece("skill", "a", "project", "y"))
    assert each.what == "skill a (not the same in each)"


def test_one_server_under_two_names_is_found():
    """By what is started, not by what it is called."""
    (each,) = twice(piece("server", "a", same="npx x"), piece("server", "b", same="npx x"))
    assert each.what == "the same server: a and b"
    assert twice(piece("server", "a", same="npx x"), piece("server", "b", same="npx y")) == []


def test_a_server_whose_cost_is_not_known_is_not_free():
    """Unknown, never nought."""
    (each,) = twice(
        piece("server", "a", "user", tokens=None), piece("server", "a", "project", tokens=None)
    )
    assert each.tokens is None


def test_a_plugin_from_two_markets_is_found():
    """It is the same one."""
    (each,) = twice(piece("plugin", "plug@one", "plugin"), piece("plugin", "plug@two", "plugin"))
    assert each.what.startswith("plugin plug")


def test_different_kinds_of_one_name_are_no_duplicates():
    """A skill and an agent."""
    assert twice(piece("skill", "a", text="x"), piece("agent", "a", text="x")) == []


def test_rules_that_are_the_same_file_are_told_once():
    """White space does not make a difference, and their paragraphs are not told again."""
    (each,) = twice(
        piece("rules", "/u/CLAUDE.md", "user", f"# A\n\n{LONG}"),
        piece("rules", "/p/CLAUDE.md", "project", f"# A\n\n\n{LONG}\n"),
    )
    assert each.what == "the same rules"


def test_paragraphs_in_two_files_are_found_also_in_almost_the_same_words():
    """In text or in a list; the cost is the copy's."""
    for other in (LONG, NEAR, f"- {LONG.upper()}\n- and more of this kind, which is its own"):
        (each,) = twice(
            piece("rules", "/u/CLAUDE.md", "user", f"# Mine\n\n{LONG}\n\nOnly mine, all of it."),
            piece("rules", "/p/CLAUDE.md", "project", f"# Ours\n\n{other}"),
        )
        assert each.places == ("/user//u/CLAUDE.md", "/project//p/CLAUDE.md")
        assert 20 <= each.tokens <= 25
        assert "a paragraph of rules" in each.what


def test_other_rules_and_short_ones_are_left_alone():
    """And a file that repeats itself is its own concern."""
    own, other = f"Be kind.\n\n{LONG}\n\n{LONG}", "Be kind.\n\nWrite tests for each new rule of it."
    assert twice(piece("rules", "a", "user", own), piece("rules", "b", "project", other)) == []


def test_very_many_paragraphs_take_no_time():
    """Whatever stands in them."""
    same = "\n\n".join(f"{LONG} {number % 7}" for number in range(5000))
    other = "\n\n".join(f"line {n} says {n * 7} about {n * 13} other things" for n in range(5000))
    begun = time.monotonic()
    twice(
        piece("rules", "a", "user", same), piece("rules", "b", "project", same + "x"),
        piece("rules", "c", "user", other), piece("rules", "d", "project", other + "y"),
    )  # fmt: skip
    assert time.monotonic() - begun < 10


def test_the_dearest_come_first():
    """That is where to begin."""
    found = twice(
        piece("skill", "a", "user", tokens=1), piece("skill", "a", "project", tokens=1),
        piece("skill", "b", "user", tokens=9), piece("skill", "b", "project", tokens=9),
    )  # fmt: skip
    assert [each.tokens for each in found] == [9, 1]
