"""A text as a QR code for a terminal: two modules a character, dark on light whatever the theme."""

from collections.abc import Iterator

#: Light modules around the code, without which a camera does not find it.
_MARGIN = 2
#: By whether the upper and the lower module are dark.
_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


def qr_lines(text: str) -> Iterator[str]:
    """The lines of the code."""
    import segno

    code = segno.make(text, error="l", micro=False, boost_error=False)
    rows = [tuple(map(int, row)) for row in code.matrix_iter(border=_MARGIN)]
    light = (0,) * len(rows[0])
    for upper, lower in zip(rows[::2], [*rows[1::2], light], strict=False):
        halves = "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True))
        yield f"\x1b[30;107m{halves}\x1b[0m"
