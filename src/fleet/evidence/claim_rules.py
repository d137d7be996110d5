"""The rules that a claim of completion is held against, each with an id and a sentence. Pure.

A rule compares the agent's words with what fleet saw: tools and commands in the stream, the
repository before and after, the operator's verify commands. Once the verify commands pass, rules
that only suspect do not apply; rules about what the task had to produce still do.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fleet.schemas import Finding, Finished, Receipt
from fleet.schemas.policy import ARTIFACT
from fleet.tripwire import shell_parser

#: Programs that report on a task and do no work on it.
_REPORTING = ("bd", "fleet")
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
#: Output tokens below which a success without text counts as empty.
_FEWEST_TOKENS = 20


class ClaimFacts(Struct, frozen=True, kw_only=True):
    """What the rules of a claim are given."""

    receipt: Receipt
    #: The coder reports every tool call, so that no report means no call.
    shows_tools: bool = True
    #: Commands that were run after the last edit.
    commands_after_edits: int = 0
    edits: int = 0
    errors_in_a_row: int = 0
    #: An earlier run of the task used tools, so that this run may only report.
    worked_before: bool = False
    #: An earlier run of the task changed files.
    changed_before: bool = False
    #: The expected file exists and differs from before the task; None if no file is expected.
    artifact: bool | None = None

    @property
    def words(self) -> str:
        return f"{self.receipt.claim or ''}\n{self.receipt.text}"

    @property
    def deeds(self) -> int:
        """The number of tool calls, without those that only report on the task."""
        reports = sum(only_reports(command.text) for command in self.receipt.commands)
        return sum(self.receipt.tools.values()) - reports

    @property
    def changed(self) -> bool | None:
        """Whether files or commits differ from before; None if that is not known."""
        changes = self.receipt.changes
        if changes is None or changes.trouble:
            return None
        return bool(changes.count or changes.commits or self.changed_before)


class ClaimRule(Struct, frozen=True):
    """One rule for claims."""

    id: str
    sentence: str
    #: How a run breaks the rule; empty if it does not.
    broken_by: Callable[[ClaimFacts], str]
    #: The kinds of `expect` that the rule applies to; empty: all.
    expects: tuple[str, ...] = ()
    #: The rule only suspects: it does not apply once the verify commands passed.
    suspects: bool = True

    def applies(self, receipt: Receipt) -> bool:
        expect = "artifact" if receipt.policy.artifact else receipt.policy.expect
        if self.expects and expect not in self.expects:
            return False
        return not (self.suspects and receipt.checks_passed)


def _no_tools(facts: ClaimFacts) -> str:
    if not facts.shows_tools or facts.worked_before or facts.deeds > 0:
        return ""
    return "it used no tool except to talk of the task"


def _hollow(facts: ClaimFacts) -> str:
    receipt = facts.receipt
    cut_off = receipt.outcome not in ("", Finished.__name__)
    if cut_off or receipt.text.strip() or not receipt.usage.total:
        return ""
    if receipt.usage.output < _FEWEST_TOKENS:
        return f"it ended without a word, after {receipt.usage.output} tokens of output"
    return ""


def _denied(facts: ClaimFacts) -> str:
    missing = facts.artifact is False or facts.changed is False
    if not missing:
        return ""
    if facts.receipt.denied:
        names = ", ".join(sorted(set(facts.receipt.denied)))
        return f"it was denied {names} (see the permissions setting), and nothing is there to show"
    if facts.errors_in_a_row >= 2:
        return f"its last {facts.errors_in_a_row} tools failed, and nothing is there to show"
    return ""


def _no_effect(facts: ClaimFacts) -> str:
    if facts.changed is False:
        return "nothing in its directory is different from before"
    if facts.changed is None and facts.shows_tools and not facts.edits and not facts.deeds:
        return "it edited no file and ran no command"
    return ""


def _no_artifact(facts: ClaimFacts) -> str:
    path = facts.receipt.policy.expect.removeprefix(ARTIFACT)
    return f"{path} is not there, or is as it was" if facts.artifact is False else ""


def _pseudo_calls(facts: ClaimFacts) -> str:
    found = _PSEUDO.search(facts.words)
    if not found or (facts.shows_tools and facts.deeds > 0):
        return ""
    return f"it wrote tool calls as text ({found[0].strip()[:40]!r}) and made none"


def _unrun_checks(facts: ClaimFacts) -> str:
    if not facts.shows_tools or facts.worked_before:
        return ""
    claimed = next(_claims_of_checks(facts.words), "")
    if not claimed or facts.commands_after_edits > 0:
        return ""
    when = "after its last edit" if facts.edits else "at all"
    return f"it says {claimed!r}, and ran no command {when}"


def _claims_of_checks(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])\s|\n", text):
        found = _CHECKED.search(sentence)
        if found and not _NOT_CHECKED.search(sentence):
            yield found[0].strip()


def _phantom_agents(facts: ClaimFacts) -> str:
    if not facts.shows_tools or facts.worked_before:
        return ""
    for found in _DISPATCHED.finditer(facts.words):
        word = (found[1] or found[2] or "a").lower()
        named = int(word) if word.isdecimal() else _NUMBERS.get(word, 1)
        if named > facts.receipt.subagents:
            return f"it says {found[0].strip()!r}, and started {facts.receipt.subagents}"
    return ""


def _verify(facts: ClaimFacts) -> str:
    failed = [check for check in facts.receipt.checks if not check.passed]
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


RULES: tuple[ClaimRule, ...] = (
    ClaimRule(
        "verify_failed",
        "A verify command of the operator's failed.",
        _verify,
        suspects=False,
    ),
    ClaimRule(
        "artifact_missing",
        "The file that was asked for is not there, or is as it was.",
        _no_artifact,
        expects=("artifact",),
        suspects=False,
    ),
    ClaimRule(
        "no_effect",
        "A change was asked for, and nothing changed.",
        _no_effect,
        expects=("change",),
        suspects=False,
    ),
    ClaimRule(
        "denied_and_missing",
        "It was refused the tools that it needed, and there is nothing to show.",
        _denied,
        expects=("any", "change", "artifact"),
    ),
    ClaimRule(
        "no_tools",
        "It says that it is done, and used no tool to do it.",
        _no_tools,
        expects=("any", "change", "artifact"),
    ),
    ClaimRule("hollow_result", "It ended in success and said nothing.", _hollow),
    ClaimRule(
        "pseudo_calls", "It wrote its tool calls as text instead of making them.", _pseudo_calls
    ),
    ClaimRule("claimed_checks", "It speaks of checks that it never ran.", _unrun_checks),
    ClaimRule("phantom_agents", "It speaks of sub-agents that it never started.", _phantom_agents),
)


def findings(facts: ClaimFacts) -> tuple[Finding, ...]:
    """The rules that a claim breaks, in the order of RULES."""
    return tuple(
        Finding(rule=rule.id, what=what)
        for rule in RULES
        if rule.applies(facts.receipt) and (what := rule.broken_by(facts))
    )


def only_reports(command: str) -> bool:
    """Whether every simple command in a shell command only reports to the tracker."""
    simple = list(shell_parser.commands(command))
    return bool(simple) and all(
        each.words and each.words[0] in _REPORTING and not each.writes for each in simple
    )
