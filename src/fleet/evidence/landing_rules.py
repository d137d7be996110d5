"""The rules for work that was sent back and now holds the line, each with an id and a sentence.
Pure.

The agent was to merge what others landed into its work. The rules say whether the agent did so,
and kept what others landed. What git itself could not merge is the agent's to decide; so is a line
that the agent replaced by another one, for the work of both may need that.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from fleet.git.land.merge_facts import MergedFile, MergeFacts
from fleet.schemas import Finding
from fleet.schemas.shown_text import some

#: How many files and lines a finding names, and characters of a line.
_FILES = 5
_LINES = 3
_LONGEST = 120
#: A line with fewer letters and digits (a bracket, `else:`) is in any file: it says nothing.
_FEWEST = 5


def _markers(facts: MergeFacts) -> str:
    names = [each.path for each in facts.files if each.markers > each.markers_before]
    return f"conflict markers are left in {some(names, _FILES)}" if names else ""


def _unfinished(facts: MergeFacts) -> str:
    if not facts.unfinished:
        return ""
    return f"the merge is not finished ({facts.unfinished}): git add what you resolved, git commit"


def _off_target(facts: MergeFacts) -> str:
    if facts.on_target or facts.unfinished:
        return ""
    return "what is checked out does not contain the branch that was to be merged: merge it"


def _lost(facts: MergeFacts) -> str:
    lost = [(each.path, words) for each in facts.files if (words := _lost_in(each, facts.added))]
    if not lost:
        return ""
    told = "; ".join(f"{path}: {words}" for path, words in lost[:_FILES])
    more = f"; and {len(lost) - _FILES} files more" if len(lost) > _FILES else ""
    return f"work that others landed is gone: {told}{more}"


def _lost_in(file: MergedFile, added: frozenset[str]) -> str:
    """What a file lost of others' work; empty if nothing."""
    if file.conflicted and not file.in_conflict:
        return ""  # one side deleted it, or it is not text: the agent had to choose
    lines = list(_lost_lines(file, added))
    if lines:
        shown = ", ".join(f"`{line.strip()[:_LONGEST]}`" for line in lines[:_LINES])
        more = f" and {len(lines) - _LINES} lines more" if len(lines) > _LINES else ""
        return f"{shown}{more}"
    if file.touched_before or file.conflicted:
        return ""
    if file.as_before and (file.gone or not file.hunks or _is_revert(file)):
        moved = file.gone and all(line in added for line in file.landed if _counts(line))
        return "" if moved and file.landed else "it is as it was before, without what was landed"
    return ""


def _lost_lines(file: MergedFile, added: frozenset[str]) -> Iterator[str]:
    """Lines that others landed and that are neither in the file, nor moved, nor replaced."""
    landed = Counter(file.landed) - Counter(file.in_conflict)
    before, kept = frozenset(file.taken_out), file.still_there | added
    for hunk in file.hunks:
        replaced = any(_counts(line) and line not in before for line in hunk.added)
        if replaced:
            continue
        for line in hunk.removed:
            if landed[line] > 0:
                landed[line] -= 1
                if _counts(line) and line not in kept:
                    yield line


def _is_revert(file: MergedFile) -> bool:
    """All that the run did to the file was to bring back what others took out."""
    out = frozenset(file.taken_out)
    return all(line in out for hunk in file.hunks for line in hunk.added)


def _counts(line: str) -> bool:
    return sum(letter.isalnum() for letter in line) >= _FEWEST


#: Each rule by its id: its sentence, and how the run breaks it (empty: the run does not).
LANDING_RULES: Mapping[str, tuple[str, Callable[[MergeFacts], str]]] = {
    "markers_left": ("Conflict markers are left in a file.", _markers),
    "merge_unfinished": ("The merge that was begun is not finished.", _unfinished),
    "not_on_target": ("The work does not contain the branch that it is to land on.", _off_target),
    "lost_landed_work": ("Lines that others landed are gone, and not by a conflict.", _lost),
}


def landing_findings(facts: MergeFacts) -> tuple[Finding, ...]:
    """The rules that the work breaks, in the order of LANDING_RULES."""
    return tuple(
        Finding(rule=rule, what=what)
        for rule, (_, broken_by) in LANDING_RULES.items()
        if (what := broken_by(facts))
    )
