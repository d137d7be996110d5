"""Every key of `fleet top`: action, words, and where the key works. Pure.

The page has the same keys. The bottom line and the help are made from this table.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from fleet.schemas.shown_text import cells
from fleet.tui.spans import EMPTY, Span, SpanLine, column

#: What a key needs: a task under the cursor, one of the tabs, a view.
Need = str


class TopKey(Struct, frozen=True):
    """A key: as a person sees it, as Textual names it, the action, and the condition."""

    shown: str
    names: str
    action: str
    words: str
    needs: tuple[Need, ...] = ()
    #: The key changes something: not there with --read-only.
    acts: bool = False
    #: The key stands in the bottom line.
    in_footer: bool = True


#: In the order in which the bottom line entries them.
KEYS: Sequence[TopKey] = (
    TopKey("a", "a", "answer", "answer", ("question",), acts=True),
    TopKey("Enter", "enter", "open", "open"),
    TopKey("t", "t", "tell", "tell", ("task",), acts=True),
    TopKey("s", "s", "stop", "stop", ("running",), acts=True),
    TopKey("r", "r", "retry", "retry", ("stands",), acts=True),
    TopKey("u", "u", "way_on", "way on", ("way_on",), acts=True),
    TopKey("f", "f", "follow", "follow", ("transcript",)),
    TopKey("/", "slash", "search", "search", ("searchable",)),
    TopKey("n N", "n", "hit(1)", "next hit", ("hits",)),
    TopKey("", "N", "hit(-1)", "", ("hits",), in_footer=False),
    TopKey("w", "w", "split", "split", ("wide diff",)),
    TopKey("z", "z", "fold", "fold all", ("foldable",)),
    TopKey("v", "v", "viewed", "viewed", ("diff",)),
    TopKey("c", "c", "comment", "comment", ("diff",), acts=True),
    TopKey("R", "R", "send_back", "send back", ("diff",), acts=True),
    TopKey("e", "e", "tab('receipt')", "receipt", ("task",)),
    TopKey("l", "l", "tab('transcript')", "transcript", ("task",)),
    TopKey("d", "d", "tab('diff')", "diff", ("task",)),
    TopKey("p", "p", "tab('plan')", "plan", ("task",)),
    TopKey("[ ]", "left_square_bracket", "turn(-1)", "tabs", ("tabs",)),
    TopKey("", "right_square_bracket", "turn(1)", "", ("tabs",), in_footer=False),
    TopKey("x", "x", "mark", "select", ("list",)),
    TopKey("/", "slash", "filter", "filter", ("list",)),
    TopKey("n", "n", "new", "new", ("no hits",), acts=True),
    TopKey("P", "P", "pause", "pause", acts=True),
    TopKey(": Ctrl-K", "colon,ctrl+k", "command", "command"),
    TopKey("Tab", "tab", "pane", "pane", ("two panes",)),
    TopKey("y", "y", "copy", "copy id", ("task",)),
    TopKey("o", "o", "directory", "directory", ("task",)),
    TopKey("S", "S", "stop_all", "stop all", acts=True),
    TopKey("1-5", "1", "view('now')", "views"),
    TopKey("", "2", "view('questions')", "", in_footer=False),
    TopKey("", "3", "view('timeline')", "", in_footer=False),
    TopKey("", "4", "view('usage')", "", in_footer=False),
    TopKey("", "5", "view('log')", "", in_footer=False),
    TopKey("j k ↑ ↓", "j,down", "move(1)", "move", in_footer=False),
    TopKey("", "k,up", "move(-1)", "", in_footer=False),
    TopKey("g G", "g,home", "edge(True)", "first, last", in_footer=False),
    TopKey("", "G,end", "edge(False)", "", in_footer=False),
    TopKey("PgUp PgDn", "pageup", "page(-1)", "a screen up or down", in_footer=False),
    TopKey("", "pagedown,space", "page(1)", "", in_footer=False),
    TopKey("← →", "left", "shift(-1)", "long lines", in_footer=False),
    TopKey("", "right", "shift(1)", "", in_footer=False),
    TopKey("Esc", "escape", "go_back", "back"),
    TopKey("?", "question_mark", "help", "keys"),
    TopKey("q", "q", "quit_top", "quit"),
)


def keys_here(have: Collection[Need], *, read_only: bool) -> Iterator[TopKey]:
    """The keys that do something where the person is."""
    for key in KEYS:
        if all(need in have for need in key.needs) and not (read_only and key.acts):
            yield key


def keys_line(have: Collection[Need], width: int, *, read_only: bool) -> SpanLine:
    """The bottom line: as many keys as fit, always with those that lead on and out."""
    shown = [key for key in keys_here(have, read_only=read_only) if key.in_footer]
    last = [key for key in shown if key.shown in ("?", "q")]
    spans: list[Span] = []
    room = width - sum(_width(key) for key in last)
    for key in (each for each in shown if each not in last):
        if _width(key) > room:
            continue
        room -= _width(key)
        spans += _shown(key)
    for key in last:
        spans += _shown(key)
    return tuple(spans)


def help_lines(*, read_only: bool) -> list[SpanLine]:
    """Every key with its words."""
    lines: list[SpanLine] = [
        ((column(key.shown, 12), "bold"), (key.words, ""))
        for key in KEYS
        if key.shown and not (read_only and key.acts)
    ]
    more = "x selects several tasks; t, s and r then act on all of them."
    return [*lines, EMPTY, ((more, "dim"),)]


def _shown(key: TopKey) -> tuple[Span, Span]:
    return (key.shown, "bold"), (f" {key.words}  ", "dim")


def _width(key: TopKey) -> int:
    return cells(f"{key.shown} {key.words}  ")
