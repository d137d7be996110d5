"""What is loaded twice: the same by name, by content, or almost in the same words. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from fleet.doctor.context.load import Duplicate, Load, Origin, Piece, estimate

#: Paragraphs shorter than this, in letters, are the same by chance.
_SHORT = 40
#: Words in a row, and the share of such rows that two paragraphs must have in common to be taken
#: for the same.
_ROW, _ALIKE = 3, 0.6
_MOST_PARAGRAPHS = 3000
#: A row of words that so many paragraphs have tells nothing.
_COMMON = 20

#: How one is got rid of.
Fix = Callable[[Load], str]
#: Whose copy goes first; the last one stays.
_EASIEST: tuple[Origin, ...] = ("plugin", "user", "project", "cli")


def found(pieces: Sequence[Piece], fix: Fix) -> list[Duplicate]:
    """Every duplicate, the dearest first."""
    twice = [*_by_name(pieces, fix), *_by_content(pieces, fix), *_rules(pieces)]
    return sorted(twice, key=lambda each: -(each.tokens or 0))


def _by_name(pieces: Sequence[Piece], fix: Fix) -> Iterator[Duplicate]:
    """The same name twice, of skills, commands, agents, servers and plugins."""
    groups: defaultdict[tuple[str, str], list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.load.kind not in ("rules", "prompt", "tools", "hooks"):
            groups[piece.load.kind, _bare(piece.load.name)].append(piece)
    for (kind, name), group in groups.items():
        if len(group) > 1:
            equal = len({piece.same for piece in group}) == 1 and bool(group[0].same)
            word = f"{kind} {name}" if equal else f"{kind} {name} (not the same in each)"
            yield _duplicate(word, group, fix)


def _by_content(pieces: Sequence[Piece], fix: Fix) -> Iterator[Duplicate]:
    """The same thing under two names."""
    groups: defaultdict[tuple[str, str], list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.same:
            groups[piece.load.kind, piece.same].append(piece)
    for (kind, _), group in groups.items():
        names = list(dict.fromkeys(_bare(piece.load.name) for piece in group))
        if len(group) > 1 and len(names) > 1:
            both = "" if kind == "rules" else f": {' and '.join(names)}"
            yield _duplicate(f"the same {kind}{both}", group, fix)


def _duplicate(what: str, group: Sequence[Piece], fix: Fix) -> Duplicate:
    copies = sorted((piece.load for piece in group), key=lambda load: _EASIEST.index(load.origin))
    known = [load.tokens for load in copies[:-1] if load.tokens is not None]
    return Duplicate(
        what=what,
        places=tuple(load.where or load.origin for load in copies),
        tokens=sum(known) if known else None,
        fix="; ".join(dict.fromkeys(fix(load) for load in copies[:-1])),
    )


def _bare(name: str) -> str:
    """Without the plugin that it comes with."""
    return name.rpartition(":")[2].partition("@")[0]


def _rules(pieces: Sequence[Piece]) -> Iterator[Duplicate]:
    """Paragraphs that stand in two files, in the same words or almost."""
    files = [piece for piece in pieces if piece.load.kind == "rules"]
    whole = Counter(piece.same for piece in files)
    paragraphs = [
        (number, text)
        for number, piece in enumerate(files)
        if whole[piece.same] == 1  # whole files are told as such
        for text in _paragraphs(piece.text)
    ][:_MOST_PARAGRAPHS]
    shared: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for one, other, text in _alike(paragraphs):
        shared[one, other][text] = estimate(len(text.encode()))
    for (one, other), texts in shared.items():
        first, second = files[one].load.where, files[other].load.where
        begin = next(iter(texts))[:60]
        count = "a paragraph" if len(texts) == 1 else f"{len(texts)} paragraphs"
        yield Duplicate(
            what=f"{count} of rules, like “{begin}…”",
            places=(first, second),
            tokens=sum(texts.values()),
            fix=f"Keep it in one of the two: take it out of {first}",
        )


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)", text):
        plain = re.sub(r"\s+", " ", re.sub(r"^[\s#>*+\-\d.)]+", "", part)).strip()
        if len(plain) >= _SHORT:
            yield plain


def _alike(paragraphs: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Pairs of files, the earlier first, with the paragraph of the later one."""
    rows = [_rows(text) for _, text in paragraphs]
    where: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, each in enumerate(rows):
        for row in each:
            where[row].append(number)
    seen: set[tuple[int, int]] = set()
    for numbers in where.values():
        for one, other in combinations(numbers[:_COMMON], 2):
            if paragraphs[one][0] == paragraphs[other][0] or (one, other) in seen:
                continue
            seen.add((one, other))
            if len(rows[one] & rows[other]) >= _ALIKE * len(rows[one] | rows[other]):
                yield paragraphs[one][0], paragraphs[other][0], paragraphs[other][1]


def _rows(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return frozenset(_in_rows(words)) or frozenset([tuple(words)])


def _in_rows(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return (tuple(words[n : n + _ROW]) for n in range(len(words) - _ROW + 1))
