"""The rules that a claim of completion is held against, each with an id and a sentence. Pure.

A rule compares the agent's words with what fleet saw: tools and commands in the stream, the
repository before and after, the operator's verify commands. Once the verify commands pass, rules
that only suspect do not apply; rules about what the task had to produce still do.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fleet.evidence.exam_rules import fewer_tests
from fleet.evidence.test_counts import count_tests
from fleet.evidence.test_runs import is_test_run, may_test, shows_failure
from fleet.schemas import Check, Command, Finding, Finished, Receipt, WorkElsewhere
from fleet.schemas.policy import ARTIFACT
from fleet.schemas.shown_text import some
from fleet.tripwire import shell_parser

#: Programs that report on a task and do no work on it.
_REPORTING = ("bd", "fleet")
#: Programs that change no file, unless their output goes into one.
_READING = frozenset(
    ("bd", "fleet", "ls", "cat", "cd", "echo", "printf", "pwd", "head", "tail", "grep", "rg", "wc",
     "sort", "uniq", "diff", "tree", "stat", "file", "which", "true", "false", "sleep", "test")
)  # fmt: skip
_PSEUDO = re.compile(
    r"<function_calls>|<invoke\b|<tool_use>|<tool_call>|\"type\"\s*:\s*\"tool_use\"|"
    r"^[ \t]*\{\s*\"(?:tool|name)\"\s*:\s*\"\w+\"\s*,\s*\"(?:input|arguments|parameters)\"\s*:",
    re.MULTILINE,
)
_PASSES = r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|green|clean|ok)\b"
_BETWEEN = r"\s+(?:all\s+|now\s+|still\s+|are\s+|is\s+|have\s+|has\s+)*"
_RUNNER = (
    r"(?:py\.?test|unittest|jest|vitest|tox|(?:npm|pnpm|yarn|cargo|go|make)\s+(?:run\s+)?test)"
)
#: Words that claim tests which passed.
_TESTED = re.compile(
    rf"\b(?:tests?|test suite|suite|specs?){_BETWEEN}{_PASSES}"
    rf"|\b{_RUNNER}\b[^.\n]{{0,40}}\b(?:pass|green|succe|clean|ok\b)"
    r"|\b(?:ran|running|run)\s+(?:all\s+|the\s+|its\s+)*(?:unit\s+)?tests?\b[^.\n]{0,40}\b(?:pass|succe)"
    r"|\b[1-9]\d*\s+(?:tests?\s+)?passed\b|\ball green\b",
    re.IGNORECASE,
)
#: Words that claim another check.
_CHECKED = re.compile(
    rf"\b(?:checks?|build|lint(?:er|ing)?|type[- ]?checks?){_BETWEEN}{_PASSES}"
    r"|\b(?:ran|running|run)\s+(?:all\s+|the\s+)*checks?\b[^.\n]{0,40}\bpass",
    re.IGNORECASE,
)
#: Words before a claim that deny or suppose the claim, and words that deny it anywhere in the
#: sentence.
_DENIED = re.compile(
    r"\b(?:not|never|no|cannot|without|unable|skipp?ed|should|would|will|if|once|when|until|ensure"
    r"|make sure|so that)\b|n't\b",
    re.IGNORECASE,
)
_FAILING = re.compile(r"(?<!no )(?<!0 )(?<!zero )\bfail(?:s|ed|ing)?\b", re.IGNORECASE)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "several": 2}
_DISPATCHED = re.compile(
    r"\b(?:dispatched|launched|spawned|started|ran|used)\s+(?:(\d+|[a-z]+)\s+)?"
    r"(?:parallel\s+|background\s+)*sub-?agents?\b"
    r"|\b(?:(\d+|[a-z]+)\s+)?sub-?agents?\s+(?:have\s+|has\s+|all\s+)*"
    r"(?:completed|finished|reported|returned)\b",
    re.IGNORECASE,
)
#: How a command ended, in a sentence about it.
_ENDED = {"failed": "failed", "denied": "was refused", "never ended": "never ended"}
#: How many names a finding lists.
_NAMES = 5
#: Output tokens below which a success without text counts as empty.
_FEWEST_TOKENS = 20


class ClaimFacts(Struct, frozen=True, kw_only=True):
    """What the rules of a claim are given."""

    receipt: Receipt
    #: The coder reports every tool call, so that no report means no call.
    shows_tools: bool = True
    #: How many of the run's commands came before its last edit, and how many edits there were.
    commands_before_edit: int = 0
    edits: int = 0
    #: The commands of earlier runs of the task, the oldest first.
    earlier_commands: tuple[Command, ...] = ()
    errors_in_a_row: int = 0
    #: An earlier run of the task used tools, so that this run may only report.
    worked_before: bool = False
    #: An earlier run of the task changed files.
    changed_before: bool = False
    #: The expected file exists and differs from before the task; None if no file is expected.
    artifact: bool | None = None
    #: Why the plan that was asked for cannot be made into tasks; empty if it can.
    plan_problem: str = ""

    @property
    def words(self) -> str:
        return f"{self.receipt.claim or ''}\n{self.receipt.text}"

    @property
    def tries(self) -> int:
        """The number of tool calls, without those that only report on the task."""
        reports = sum(only_reports(command.text) for command in self.receipt.commands)
        return sum(self.receipt.tools.values()) - reports

    @property
    def deeds(self) -> int:
        """The number of tool calls that ended well, where the CLI tells how calls end."""
        receipt = self.receipt
        if not receipt.tool_results:
            return self.tries
        reports = sum(only_reports(each.text) for each in receipt.commands if each.ended_well)
        return max(0, receipt.tool_results - receipt.tool_errors - reports)

    @property
    def commands_that_check(self) -> tuple[Command, ...]:
        """The commands that may have checked what the run left: those after the last edit.

        A run that edits nothing may speak of what an earlier run of the task had checked.
        """
        own = self.receipt.commands[self.commands_before_edit :]
        found = own if self.edits else (*self.earlier_commands, *own)
        return tuple(command for command in found if not only_reports(command.text))

    @property
    def changed(self) -> bool | None:
        """Whether files or commits differ from before; None if that is not known.

        A change that another run in the same tree may have made is the run's own only if the run
        did something that can change a file.
        """
        changes = self.receipt.changes
        if changes is None or changes.trouble:
            return None
        if self.changed_before:
            return True
        if changes.shared_with and not self.edits:
            ran = [each.text for each in self.receipt.commands if each.ended_well]
            if all(only_looks(text) for text in ran):
                return False
        return bool(changes.count or changes.commits)


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

    def applies(self, facts: ClaimFacts) -> bool:
        receipt = facts.receipt
        kinds = {"artifact" if receipt.policy.artifact else "", receipt.policy.expect}
        if self.expects and kinds.isdisjoint(self.expects):
            return False
        # A check that passes on a tree as it was says nothing of the run.
        return not (self.suspects and receipt.checks_passed and facts.changed is not False)


def _no_tools(facts: ClaimFacts) -> str:
    if not facts.shows_tools or facts.worked_before or facts.tries > 0:
        return ""
    return "it used no tool except to talk of the task"


def _only_failures(facts: ClaimFacts) -> str:
    if not facts.shows_tools or facts.worked_before or facts.changed:
        return ""
    if facts.tries == 0 or facts.deeds > 0:
        return ""
    calls = "its one tool call" if facts.tries == 1 else f"each of its {facts.tries} tool calls"
    last = next((each for each in reversed(facts.receipt.commands) if each.ending), None)
    shown = f": `{last.text[:200]}` {_ENDED[last.ending]}" if last is not None else ""
    return f"{calls} failed, was refused or never ended{shown}"


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
        names = ", ".join(facts.receipt.denied_calls or sorted(set(facts.receipt.denied)))
        return f"it was denied {names} (see the permissions setting), and nothing is there to show"
    if facts.errors_in_a_row >= 2:
        return f"its last {facts.errors_in_a_row} tools failed, and nothing is there to show"
    return ""


def _no_effect(facts: ClaimFacts) -> str:
    changes = facts.receipt.changes
    if facts.changed is False and changes is not None and changes.shared_with:
        others = ", ".join(changes.shared_with)
        return f"nothing in its directory is different by its own doing ({others} worked there too)"
    if facts.changed is False:
        return "nothing in its directory is different from before"
    if facts.changed is None and facts.shows_tools and not facts.edits and not facts.deeds:
        return "it edited no file and ran no command"
    return ""


def _no_artifact(facts: ClaimFacts) -> str:
    path = facts.receipt.policy.expect.removeprefix(ARTIFACT)
    return f"{path} is not there, or is as it was" if facts.artifact is False else ""


def _shared_path(facts: ClaimFacts) -> str:
    changes = facts.receipt.changes
    if changes is None or not changes.misplaced.shared:
        return ""
    names = some(changes.misplaced.shared, _NAMES)
    return (
        f"it committed {names}, which the project shares with every copy and which is not part of"
        " the work: take it out of the commits (git rm -r --cached PATH, git commit --amend)"
    )


def _elsewhere(facts: ClaimFacts) -> str:
    changes = facts.receipt.changes
    found = changes.misplaced.elsewhere[:_NAMES] if changes is not None else ()
    return "; ".join(map(_elsewhere_words, found))


def _elsewhere_words(work: WorkElsewhere) -> str:
    """Where work is that is not on what is checked out, and what to do about it."""
    what = f"{work.commit[:12]} {work.title!r}"
    if work.kind == "stash":
        return (
            f"changes are in a stash and not in the work ({work.name}, {what}): git stash pop, or"
            " git stash drop if they are not wanted"
        )
    commits = "1 commit is" if work.count == 1 else f"{work.count} commits are"
    if work.kind == "branch":
        return (
            f"{commits} on the branch {work.name} and not on what is checked out ({what}): git"
            f" merge {work.name}, or git branch -D {work.name} if that is not wanted"
        )
    return (
        f"{commits} on no branch, and nothing is changed without ({what}): git merge"
        f" {work.commit[:12]}. If there is nothing to change, say so as you close the task again"
    )


def _unrelated(facts: ClaimFacts) -> str:
    receipt = facts.receipt
    base = receipt.changes.misplaced.unrelated_to if receipt.changes is not None else ""
    if not base or not receipt.policy.land.lands:
        return ""
    return (
        f"what is checked out has no commit in common with {base[:12]}, which the work began at, so"
        " it cannot be merged (was the first commit amended?). To put the same files on top of it:"
        f" git reset --soft {base[:12]}, git commit. Or a person has the task begin anew: fleet"
        f" retry {receipt.task_id} --fresh"
    )


def _pseudo_calls(facts: ClaimFacts) -> str:
    found = _PSEUDO.search(facts.words)
    if not found or (facts.shows_tools and facts.deeds > 0):
        return ""
    return f"it wrote tool calls as text ({found[0].strip()[:40]!r}) and made none"


def _untested(facts: ClaimFacts) -> str:
    """How "tests pass" is not borne out; empty: it is. A test run that failed, was refused, never
    ended or came before the last edit does not count.

    Where no test run is recognised, any command that may be one speaks for the claim.
    """
    claimed = next(_claims(_TESTED, facts.words), "")
    if not claimed or not facts.shows_tools or facts.receipt.more_commands:
        return ""
    commands = facts.commands_that_check
    verify = facts.receipt.policy.verify
    runs = [command for command in commands if is_test_run(command.text, verify)]
    if not runs:
        maybe = any(command.ended_well and may_test(command.text) for command in commands)
        return "" if maybe else f"it says {claimed!r}, and ran no test {_since_when(facts)}"
    last = runs[-1]
    if not last.ended_well:
        return f"it says {claimed!r}, and its last test run {_ENDED[last.ending]}: `{last.text}`"
    if shows_failure(last.tail):
        end = last.tail.strip().splitlines()[-1]
        return f"it says {claimed!r}, and its last test run says otherwise: `{last.text}`: {end}"
    counted = count_tests(last.tail)
    if counted is not None and counted.executed == 0:
        return f"it says {claimed!r}, and its last test run executed no test: `{last.text}`"
    return ""


def _unrun_checks(facts: ClaimFacts) -> str:
    claimed = next(_claims(_CHECKED, facts.words), "")
    if not claimed or not facts.shows_tools or facts.receipt.more_commands:
        return ""
    if any(command.ended_well for command in facts.commands_that_check):
        return ""
    return f"it says {claimed!r}, and no command of its own ended well {_since_when(facts)}"


def _since_when(facts: ClaimFacts) -> str:
    return "after its last edit" if facts.edits else "at all"


def _claims(words: re.Pattern[str], text: str) -> Iterator[str]:
    """What the sentences of a text claim; one that denies or supposes something claims nothing."""
    for sentence in re.split(r"(?<=[.!?;])\s|\n", text):
        found = words.search(sentence)
        if not found or _DENIED.search(sentence, 0, found.start()) or _FAILING.search(sentence):
            continue
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
    return f"`{check.command}` {how}" + (f":\n{tail}" if tail else "") + _where(check)


def _where(check: Check) -> str:
    """Where a command that failed ran, if not in the agent's directory, and what may be missing
    there.
    """
    if not check.tree:
        return ""
    lacks = f" There was no {', no '.join(check.lacks)}." if check.lacks else ""
    return (
        "\n(It ran in a fresh checkout of what the run left, without files that git ignores."
        f"{lacks} A person can link one into it: fleet config set --project DIR share=PATH, or have"
        " it made by `setup` commands.)"
    )


RULES: tuple[ClaimRule, ...] = (
    ClaimRule(
        "verify_failed",
        "A verify command of the operator's failed.",
        _verify,
        suspects=False,
    ),
    ClaimRule(
        "fewer_tests",
        "A verify command passed with fewer tests than before the work, or with none.",
        lambda facts: fewer_tests(facts.receipt.checks, facts.receipt.exam),
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
        "plan_unusable",
        "A plan was asked for, and what it wrote cannot be made into tasks.",
        lambda facts: facts.plan_problem,
        expects=("plan",),
        suspects=False,
    ),
    ClaimRule(
        "work_elsewhere",
        "Commits or a stash hold work that is not in what it left checked out.",
        _elsewhere,
        expects=("any", "change", "artifact"),
        suspects=False,
    ),
    ClaimRule(
        "unrelated_history",
        "Its work is to land, and shares no commit with what it began at.",
        _unrelated,
        suspects=False,
    ),
    ClaimRule(
        "shared_path",
        "It committed what the project shares with every copy by a link.",
        _shared_path,
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
    ClaimRule(
        "only_failures",
        "It says that it is done, and every tool that it used failed, was refused or never ended.",
        _only_failures,
        expects=("any", "change", "artifact"),
    ),
    ClaimRule("hollow_result", "It ended in success and said nothing.", _hollow),
    ClaimRule(
        "pseudo_calls", "It wrote its tool calls as text instead of making them.", _pseudo_calls
    ),
    ClaimRule(
        "claimed_tests",
        "It says that tests pass, and its last test run failed, ran none, was denied or never was.",
        _untested,
    ),
    ClaimRule("claimed_checks", "It speaks of checks that it never ran.", _unrun_checks),
    ClaimRule("phantom_agents", "It speaks of sub-agents that it never started.", _phantom_agents),
)


#: Rules about where the work is: the session that did the work can mend it in a step or two.
MISPLACED = frozenset({"work_elsewhere", "unrelated_history", "shared_path"})
#: Rules about words that nothing stands behind: a model that breaks them again and again is held.
MADE_UP = frozenset(
    {"no_tools", "only_failures", "pseudo_calls", "claimed_tests", "claimed_checks"}
    | {"phantom_agents"}
)
#: Nothing else is wrong with the claim: the agent may know why nothing had to change.
UNCHANGED = ("no_effect",)


def findings(facts: ClaimFacts) -> tuple[Finding, ...]:
    """The rules that a claim breaks, in the order of RULES."""
    return tuple(
        Finding(rule=rule.id, what=what)
        for rule in RULES
        if rule.applies(facts) and (what := rule.broken_by(facts))
    )


def only_looks(command: str) -> bool:
    """Whether every simple command in a shell command reads, or reports to the tracker."""
    return all(
        each.words and shell_parser.program(each.words[0]) in _READING and not each.writes
        for each in shell_parser.commands(command)
    )


def only_reports(command: str) -> bool:
    """Whether every simple command in a shell command only reports to the tracker."""
    simple = list(shell_parser.commands(command))
    return bool(simple) and all(
        each.words and each.words[0] in _REPORTING and not each.writes for each in simple
    )
