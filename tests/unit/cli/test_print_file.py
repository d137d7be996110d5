"""Diffs on a person's terminal."""

from fleet.cli.print_file import coloured_diff


def test_a_line_of_a_file_with_crlf_ends_without_a_mark():
    """A carriage return elsewhere in a line is shown, and not obeyed."""
    assert list(coloured_diff([b"+one\r\n+t", b"wo\rthree\n"])) == ["+one", "+two\\rthree"]
