"""What a task will run with: its place and its seats, by its settings and the configuration."""

import pytest

from fleet.accounts.candidates import Place, accounts_for, place_of, stages_of
from fleet.config import Config
from fleet.errors import BadInput
from fleet.home import task_json
from fleet.home.task_policy import policy_of
from fleet.schemas import Account, Settings
from fleet.schemas.account import read_chain
from tests.builders import a_task

CONFIG = Config(
    accounts={
        "work": Account(name="work", coder="claude"),
        "home": Account(name="home", coder="claude"),
        "spare": Account(name="spare", coder="claude", weight=0),
        "keys": Account(name="keys", coder="codex"),
    }
)


def place(chain="none", **asked):
    """A place of claude with a chain."""
    ruled = policy_of(Config(), Settings(), "/")
    given = {"cwd": "/", "coder": "claude", "model": "sonnet", **asked}
    return Place(fallback=read_chain(chain), ruled=ruled, **given)


def names(stages):
    return [[(seat.account.name, seat.model) for seat in stage] for stage in stages]


@pytest.mark.parametrize(
    ("configured", "own", "override", "runs_with"),
    [
        ({}, {}, None, ("claude", "sonnet")),
        ({"coder": "codex"}, {}, None, ("codex", "o4-mini")),
        ({"coder": "agy"}, {}, None, ("agy", "")),
        ({"coder": "codex", "model": "gpt-5"}, {}, None, ("codex", "gpt-5")),
        ({}, {}, "codex", ("codex", "o4-mini")),
        ({}, {"coder": "codex"}, None, ("codex", "o4-mini")),
        ({}, {"coder": "claude"}, "codex", ("claude", "sonnet")),
        ({}, {"coder": "codex", "model": "sonnet"}, None, ("codex", "sonnet")),
        ({}, {"account": "keys"}, "agy", ("codex", "o4-mini")),
    ],
)
def test_a_place_names_the_coder_and_the_model_that_a_run_will_have(
    home, configured, own, override, runs_with
):
    """The first seat of the supervisor has the same coder and model as the place."""
    config = Config(**configured, accounts=CONFIG.accounts)
    task = a_task()
    task_json.write(home, task.id, Settings(**own))
    found = place_of(home, config, task, coder=override)
    seat = stages_of(found, config, home.path)[0][0]
    assert (found.coder, found.model) == runs_with == (seat.coder, seat.model)


def test_a_coder_that_is_gone_keeps_the_configured_model(home):
    """The place can still be shown; its seats cannot be had."""
    found = place_of(home, Config(coder="gone"), a_task())
    assert (found.coder, found.model) == ("gone", "sonnet")
    with pytest.raises(BadInput, match="unknown coder: gone"):
        stages_of(found, Config(coder="gone"), home.path)


def test_without_accounts_the_users_own_login_is_the_one(home):
    """A configuration without accounts has one seat."""
    assert names(stages_of(place(), Config(), home.path)) == [[("claude", "sonnet")]]
    (own,) = accounts_for("claude", Config(stop_at=80))
    assert (own.is_own, own.stop_at) == (True, 80)


def test_a_chain_leads_over_accounts_models_and_coders(home):
    """An account without weight has work only where it is named."""
    chain = "account:spare, model:haiku, coder:codex/gpt-5, coder:codex"
    assert names(stages_of(place(chain), CONFIG, home.path)) == [
        [("work", "sonnet"), ("home", "sonnet")],
        [("spare", "sonnet")],
        [("work", "haiku"), ("home", "haiku")],
        [("keys", "gpt-5")],
        [("keys", "o4-mini")],
    ]


def test_a_task_may_insist_on_an_account(home):
    """Then the task has that one seat."""
    assert names(stages_of(place(account="home"), CONFIG, home.path)) == [[("home", "sonnet")]]
    with pytest.raises(BadInput, match="there is no account nobody"):
        stages_of(place(account="nobody"), CONFIG, home.path)
