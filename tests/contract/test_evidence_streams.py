"""False alarms: every recorded run that worked passes the rules of evidence."""

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
        commands=tuple(reading.tools.commands),
        denied=reading.denied,
        subagents=reading.tools.subagents,
        turns=reading.tokens.turns,
        usage=reading.tokens.usage,
        # Most of the recordings are a model that only answers; they claim no more than that.
        policy=Policy(expect="any" if reading.tools.count else "answer"),
    )
    return findings(ClaimFacts(receipt=receipt, edits=reading.tools.edits, commands_after_edits=0))


@pytest.mark.parametrize(("cli", "name"), WORKED)
def test_a_recorded_run_that_worked_raises_no_alarm(cli, name):
    """However short it was."""
    assert judged(cli, name) == ()


def test_there_are_recordings_enough_to_tell():
    """A measure on a handful would be none."""
    assert len(WORKED) >= 60
