"""The rules by which a claim is believed: each with an id, a sentence, and what it looks at. Pure.

An agent's words are evidence of nothing but themselves. A rule compares them with what fleet saw:
the stream's own record of tools and commands, the repository before and after, the operator's
verify commands. Those commands have the last word: once they pass, rules that only suspect are
silent, and rules about what had to be there still bind.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fleet.schemas import Finding, Receipt
from fleet.schemas.policy import ARTIFACT
from fleet.tripwire import shell_parser

#: Commands of the protocol: with these an agent talks of its work, and does none.
_TALK = ("bd", "fleet")
_PSEUDO = re.compile(
    r"<function_calls>|<invoke\b|<tool_use>|<tool_call>|\"type\"\s*:\s*\"tool_use\"|"
    r"^\s*\{\s*\"(?:tool|name)\"\s*:\s*\"\w+\"\s*,\s*\"(?:input|arguments|parameters)\"\s*:",
    re.MULTILINE,
)
_CHECKED = re.compile(
    r"\b(?:tests?|test suite|checks?|build|lint(?:er|ing)?|type[- ]?checks?)"
    r"\s+(?:all\s+|now\s+|still\s+|are\s+|is\s+)*"
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|green|clean)\b"
    r"|\b(?:ran|running|run)\s+(?:all\s+|the\s+)*(?:test|check)s?\b[^.\n]{0,40}\bpass",
    re.IGNORECASE,
)
_NOT_CHECKED = re.compile(
    r"\b(?:not|n't|never|cannot|could not|fail(?:s|ed|ing)?)\b", re.IGNORECASE
)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "several": 2}
_DISPATCHED = re.compile(
    r"\b(?:dispatched|launched|spawned|started|ran|used)\s+(?:(\d+|[a-z]+)\s+)?"
    r"(?:parallel\s+|background\s+)*sub-?agents?\b"
    r"|\b(?:(\d+|[a-z]+)\s+)?sub-?agents?\s+(?:have\s+|has\s+|all\s+)*"
    r"(?:completed|finished|reported|returned)\b",
    re.IGNORECASE,
)
#: A success with fewer words of the model's own than this said nothing.
_FEWEST_TOKENS = 20


class Seen(Struct, frozen=True, kw_only=True):
    """What the rules look at."""

    receipt: Receipt
    #: The coder tells of every tool, so that none told of is none used.
    shows_tools: bool = True
    #: Commands that were run behind the last edit.
    commands_after_edits: int = 0
    edits: int = 0
    errors_in_a_row: int = 0
    #: An earlier run of the task did work that this one only had to report.
    worked_before: bool = False
    #: And changed something.
    changed_before: bool = False
    #: The file that was asked for is there, and is not as it was before the task; None if none was.
    artifact: bool | None = None

    @property
    def words(self) -> str:
        return f"{self.receipt.claim or ''}\n{self.receipt.text}"

    @property
    def deeds(self) -> int:
        """Tools that were used for anything but talking of the task."""
        talk = sum(is_talk(command.text) for command in self.receipt.commands)
        return sum(self.receipt.tools.values()) - talk

    @property
    def changed(self) -> bool | None:
        """Something is different from before; None if nobody can tell."""
        changes = self.receipt.changes
        if changes is None or changes.trouble:
            return None
        return bool(changes.count or changes.commits or self.changed_before)


class Rule(Struct, frozen=True):
    """One rule."""

    id: str
    sentence: str
    #: Why a run breaks it; empty if it does not.
    broken_by: Callable[[Seen], str]
    #: What must be expected of the task for it to bind; none: whatever is.
    expects: tuple[str, ...] = ()
    #: It only suspects: the operator's own commands, once they pass, know better.
    suspects: bool = True

    def binds(self, receipt: Receipt) -> bool:
        expect = "artifact" if receipt.policy.artifact else receipt.policy.expect
        if self.expects and expect not in self.expects:
            return False
        passed = receipt.checks and all(check.passed for check in receipt.checks)
        return not (self.suspects and passed)


def _no_tools(seen: Seen) -> str:
    if not seen.shows_tools or seen.worked_before or seen.deeds > 0:
        return ""
    return "it used no tool except to talk of the task"


def _hollow(seen: Seen) -> str:
    receipt = seen.receipt
    if receipt.text.strip() or not receipt.usage.total:
        return ""
    if receipt.usage.output < _FEWEST_TOKENS:
        return f"it ended without a word, after {receipt.usage.output} tokens of output"
    return ""


def _denied(seen: Seen) -> str:
    missing = seen.artifact is False or seen.changed is False
    if not missing:
        return ""
    if seen.receipt.denied:
        names = ", ".join(sorted(set(seen.receipt.denied)))
        return f"it was denied {names} (see the permissions setting), and nothing is there to show"
    if seen.errors_in_a_row >= 2:
        return f"its last {seen.errors_in_a_row} tools failed, and nothing is there to show"
    return ""


def _no_effect(seen: Seen) -> str:
    if seen.changed is False:
        return "nothing in its directory is different from before"
    if seen.changed is None and seen.shows_tools and not seen.edits and not seen.deeds:
        return "it edited no file and ran no command"
    return ""


def _no_artifact(seen: Seen) -> str:
    path = seen.receipt.policy.expect.removeprefix(ARTIFACT)
    return f"{path} is not there, or is as it was" if seen.artifact is False else ""


def _pseudo_calls(seen: Seen) -> str:
    found = _PSEUDO.search(seen.words)
    if not found or (seen.shows_tools and seen.deeds > 0):
        return ""
    return f"it wrote tool calls as text ({found[0].strip()[:40]!r}) and made none"


def _unrun_checks(seen: Seen) -> str:
    if not seen.shows_tools or seen.worked_before:
        return ""
    claimed = next(_claims_of_checks(seen.words), "")
    if not claimed or seen.commands_after_edits > 0:
        return ""
    when = "after its last edit" if seen.edits else "at all"
    return f"it says {claimed!r}, and ran no command {when}"


def _claims_of_checks(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])\s|\n", text):
        found = _CHECKED.search(sentence)
        if found and not _NOT_CHECKED.search(sentence):
            yield found[0].strip()


def _phantom_agents(seen: Seen) -> str:
    if not seen.shows_tools or seen.worked_before:
        return ""
    for found in _DISPATCHED.finditer(seen.words):
        word = (found[1] or found[2] or "a").lower()
        named = int(word) if word.isdecimal() else _NUMBERS.get(word, 1)
        if named > seen.receipt.subagents:
            return f"it says {found[0].strip()!r}, and started {seen.receipt.subagents}"
    return ""


def _verify(seen: Seen) -> str:
    failed = [check for check in seen.receipt.checks if not check.passed]
    if not failed:
        return ""
    check = failed[0]
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"did not end within {check.seconds:.0f} s"
    else:
        how = f"ended with {check.code}"
    tail = check.tail.strip()
    return f"`{check.command}` {how}" + (f":\n{tail}" if tail else "")


RULES: tuple[Rule, ...] = (
    Rule(
        "verify_failed",
        "A verify command of the operator's failed.",
        _verify,
        suspects=False,
    ),
    Rule(
        "artifact_missing",
        "The file that was asked for is not there, or nobody touched it.",
        _no_artifact,
        expects=("artifact",),
        suspects=False,
    ),
    Rule(
        "no_effect",
        "A change was asked for, and nothing changed.",
        _no_effect,
        expects=("change",),
        suspects=False,
    ),
    Rule(
        "denied_and_missing",
        "It was refused the tools that it needed, and there is nothing to show.",
        _denied,
        expects=("any", "change", "artifact"),
    ),
    Rule(
        "no_tools",
        "It says that it is done, and used no tool to do it.",
        _no_tools,
        expects=("any", "change", "artifact"),
    ),
    Rule("hollow_result", "It ended in success and said nothing.", _hollow),
    Rule("pseudo_calls", "It wrote its tool calls as text instead of making them.", _pseudo_calls),
    Rule("claimed_checks", "It speaks of checks that it never ran.", _unrun_checks),
    Rule("phantom_agents", "It speaks of sub-agents that it never started.", _phantom_agents),
)


def findings(seen: Seen) -> tuple[Finding, ...]:
    """The rules that a claim breaks, the weightiest first."""
    return tuple(
        Finding(rule=rule.id, what=what)
        for rule in RULES
        if rule.binds(seen.receipt) and (what := rule.broken_by(seen))
    )


def is_talk(command: str) -> bool:
    """The command does nothing but talk to the tracker, however many shells are around it."""
    simple = list(shell_parser.commands(command))
    return bool(simple) and all(
        each.words and each.words[0] in _TALK and not each.writes for each in simple
    )
