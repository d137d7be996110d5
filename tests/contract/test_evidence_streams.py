"""False alarms: every recorded run that worked passes the rules of evidence. Recorded runs of which
every call was refused or failed are no work, and are told apart.
"""

import pytest

from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder
from fleet.evidence.claim_rules import ClaimFacts, findings
from fleet.schemas import Finished, Policy, Receipt
from tests.contract.test_claude_streams import CASES as CLAUDE
from tests.contract.test_codex_streams import CASES as CODEX
from tests.streams import replay

CODERS = {"claude": (ClaudeCoder(), CLAUDE), "codex": (CodexCoder(), CODEX)}
WORKED = [
    (cli, name)
    for cli, (_, cases) in CODERS.items()
    for name, (outcome, _) in cases.items()
    if isinstance(outcome, Finished)
]


def judged(cli, name):
    """The recording as a run that claims to be done, with nothing known but its stream."""
    coder = CODERS[cli][0]
    reading = replay(coder, cli, name)
    receipt = Receipt(
        task_id="fleet-a",
        run=1,
        coder=cli,
        claim="did it",
        text=reading.text,
        tools=dict(reading.tools.tools),
        tool_errors=reading.tools.failed,
        tool_results=reading.tools.results,
        commands=reading.tools.ended_commands,
        denied=reading.denied,
        subagents=reading.tools.subagents,
        turns=reading.tokens.turns,
        usage=reading.tokens.usage,
        # Most of the recordings are a model that only answers; they claim no more than that.
        policy=Policy(expect="any" if reading.tools.count else "answer"),
    )
    edits = reading.tools.edits
    return findings(
        ClaimFacts(receipt=receipt, edits=edits.count, commands_before_edit=edits.commands_before)
    )


def did_nothing(cli, name):
    """Every call of the recording had an error as its result."""
    tools = replay(CODERS[cli][0], cli, name).tools
    return tools.count > 0 and tools.results == tools.failed > 0


@pytest.mark.parametrize(("cli", "name"), WORKED)
def test_a_recorded_run_that_worked_raises_no_alarm(cli, name):
    """However short it was; a run of which nothing succeeded is rejected for just that."""
    rules = [finding.rule for finding in judged(cli, name)]
    assert rules == (["only_failures"] if did_nothing(cli, name) else [])


def test_the_recordings_in_which_nothing_succeeded_are_known():
    """By their names, so that no honest recording slips in among them."""
    refused = {
        "hooks_pretool_deny", "perm_acceptedits_bash", "perm_allowedtools", "perm_default_denied",
        "perm_disallowed_under_bypass", "perm_dontask", "perm_plan", "tools_restricted",
    }  # fmt: skip
    interrupted = {"sighup_during_tool", "sigterm_during_tool", "sjin_interrupt_midtool"}
    found = {name for cli, name in WORKED if did_nothing(cli, name)}
    assert found == refused | interrupted | {"toolfail", "ask_user_question"}


def test_there_are_recordings_enough_to_tell():
    """A measure on a handful would be none."""
    assert len(WORKED) >= 60
