"""Every key of `fleet top`: what it does, its words, and where it works. Pure.

The page has the same keys. The bottom line and the help are made from this table.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.schemas.shown_text import cells
from fleet.tui.spans import EMPTY, Span, SpanLine, column

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

#: What a key needs: a task under the cursor, one of the tabs, a view.
Need = str


class TopKey(Struct, frozen=True):
    """A key: as a person sees it, as Textual names it, what it does, and the condition."""

    shown: str
    names: str
    do: Callable[["TopApp"], None]
    words: str
    needs: tuple[Need, ...] = ()
    #: The key changes something: not there with --read-only.
    acts: bool = False
    #: The key stands in the bottom line.
    in_footer: bool = True


#: In the order in which the bottom line entries them.
KEYS: Sequence[TopKey] = (
    TopKey("a", "a", lambda app: app.acts.answer(), "answer", ("question",), acts=True),
    TopKey("Enter", "enter", lambda app: app.looks.focused().open_cursor(), "open"),
    TopKey("t", "t", lambda app: app.acts.tell(), "tell", ("task",), acts=True),
    TopKey("s", "s", lambda app: app.acts.each("stop"), "stop", ("running",), acts=True),
    TopKey("r", "r", lambda app: app.acts.each("retry"), "retry", ("stands",), acts=True),
    TopKey("u", "u", lambda app: app.acts.way_on(), "way on", ("way_on",), acts=True),
    TopKey("f", "f", lambda app: app.looks.follow(), "follow", ("transcript",)),
    TopKey("/", "slash", lambda app: app.looks.search(), "search", ("searchable",)),
    TopKey("n N", "n", lambda app: app.looks.hit(1), "next hit", ("hits",)),
    TopKey("", "N", lambda app: app.looks.hit(-1), "", ("hits",), in_footer=False),
    TopKey("w", "w", lambda app: app.looks.split(), "split", ("wide diff",)),
    TopKey("z", "z", lambda app: app.detail.fold_all(), "fold all", ("foldable",)),
    TopKey("v", "v", lambda app: app.looks.viewed(), "viewed", ("diff",)),
    TopKey("c", "c", lambda app: app.acts.comment(), "comment", ("diff",), acts=True),
    TopKey("R", "R", lambda app: app.acts.send_back(), "send back", ("diff",), acts=True),
    TopKey("e", "e", lambda app: app.looks.tab("receipt"), "receipt", ("task",)),
    TopKey("l", "l", lambda app: app.looks.tab("transcript"), "transcript", ("task",)),
    TopKey("d", "d", lambda app: app.looks.tab("diff"), "diff", ("task",)),
    TopKey("p", "p", lambda app: app.looks.tab("plan"), "plan", ("task",)),
    TopKey("[ ]", "left_square_bracket", lambda app: app.looks.turn(-1), "tabs", ("tabs",)),
    TopKey(
        "", "right_square_bracket", lambda app: app.looks.turn(1), "", ("tabs",), in_footer=False
    ),
    TopKey("x", "x", lambda app: app.looks.mark(), "select", ("list",)),
    TopKey("/", "slash", lambda app: app.looks.filter(), "filter", ("list",)),
    TopKey("n", "n", lambda app: app.acts.new(), "new", ("no hits",), acts=True),
    TopKey("P", "P", lambda app: app.acts.pause(), "pause", acts=True),
    TopKey(": Ctrl-K", "colon,ctrl+k", lambda app: app.acts.command(), "command"),
    TopKey("Tab", "tab", lambda app: app.looks.pane(), "pane", ("two panes",)),
    TopKey("y", "y", lambda app: app.looks.copy(), "copy id", ("task",)),
    TopKey("o", "o", lambda app: app.acts.open_directory(), "directory", ("task",)),
    TopKey("S", "S", lambda app: app.acts.stop_all(), "stop all", acts=True),
    TopKey("1-5", "1", lambda app: app.looks.view("now"), "views"),
    TopKey("", "2", lambda app: app.looks.view("questions"), "", in_footer=False),
    TopKey("", "3", lambda app: app.looks.view("timeline"), "", in_footer=False),
    TopKey("", "4", lambda app: app.looks.view("usage"), "", in_footer=False),
    TopKey("", "5", lambda app: app.looks.view("log"), "", in_footer=False),
    TopKey("j k ↑ ↓", "j,down", lambda app: app.looks.move(1), "move", in_footer=False),
    TopKey("", "k,up", lambda app: app.looks.move(-1), "", in_footer=False),
    TopKey("g G", "g,home", lambda app: app.looks.edge(top=True), "first, last", in_footer=False),
    TopKey("", "G,end", lambda app: app.looks.edge(top=False), "", in_footer=False),
    TopKey(
        "PgUp PgDn",
        "pageup",
        lambda app: app.looks.page(-1),
        "a screen up or down",
        in_footer=False,
    ),
    TopKey("", "pagedown,space", lambda app: app.looks.page(1), "", in_footer=False),
    TopKey("← →", "left", lambda app: app.looks.focused().shift(-1), "long lines", in_footer=False),
    TopKey("", "right", lambda app: app.looks.focused().shift(1), "", in_footer=False),
    TopKey("Esc", "escape", lambda app: app.looks.go_back(), "back"),
    TopKey("?", "question_mark", lambda app: app.looks.help(), "keys"),
    TopKey("q", "q", lambda app: app.exit(), "quit"),
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
