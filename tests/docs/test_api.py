"""`docs/api.md` says what the values are."""

from msgspec import Struct

from tests.docs import api_reference, page_shapes


def test_the_shapes_of_the_page_are_those_of_the_values():
    """Run `make docs` after changing a value that surfaces show."""
    assert api_reference.FILE.read_text(encoding="utf-8") == api_reference.page()


def test_every_shape_says_what_it_is():
    """A value without a docstring of its own has the hundred lines of the library's."""
    assert Struct.__doc__ is not None
    assert Struct.__doc__.split("\n")[0] not in api_reference.page()


def test_the_types_of_the_page_are_those_of_the_values():
    """A field that is renamed here breaks `make check`, and not the page."""
    assert page_shapes.FILE.read_text(encoding="utf-8") == page_shapes.written()
