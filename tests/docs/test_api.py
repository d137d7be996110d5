"""`docs/api.md` says what the values are."""

from tests.docs import api_reference, page_shapes


def test_the_shapes_of_the_page_are_those_of_the_values():
    """Run `make docs` after changing a value that surfaces show."""
    assert api_reference.FILE.read_text(encoding="utf-8") == api_reference.page()


def test_the_types_of_the_page_are_those_of_the_values():
    """A field that is renamed here breaks `make check`, and not the page."""
    assert page_shapes.FILE.read_text(encoding="utf-8") == page_shapes.written()
