"""Every fact of a forge, against scripted ones on this machine."""

import pytest

from fleet.forge.forge_protocol import ForgeSilent
from fleet.forge.github import GitHub
from fleet.forge.repository_address import address_of
from tests.contract.forge_facts import BRANCH, NOW, ForgeFacts, draft, facts
from tests.forges.worlds import gh_env, scripted_gitea_world, scripted_github_world


class TestScriptedGitea(ForgeFacts):
    """Gitea's interface on loopback."""

    @pytest.fixture
    def world(self, tmp_path):
        with scripted_gitea_world(tmp_path) as world:
            yield world

    def test_reviews_are_asked_for_only_after_a_change(self, world):
        """Most polls find nothing new: they take two questions."""
        world.work(BRANCH, b="two\n")
        number = world.forge.open(draft()).number
        before = facts(world, number)
        asked = len(world.state.read()["asked"])
        assert facts(world, number, before).threads == ()
        assert len(world.state.read()["asked"]) - asked == 2


class TestScriptedGitHub(ForgeFacts):
    """The answers of `gh`."""

    @pytest.fixture
    def world(self, tmp_path):
        with scripted_github_world(tmp_path) as world:
            yield world

    def test_a_merge_queue_is_handed_the_head_and_told_from_a_merge(self, world):
        """Queued is not merged: work was lost where the one was taken for the other."""
        head = world.work(BRANCH, b="two\n")
        number = world.forge.open(draft()).number
        with world.state.changing() as known:
            known["queue"] = True
        assert facts(world, number).has_queue
        assert world.forge.merge(number, head=head, how="merge", queue=True) is None
        found = facts(world, number)
        assert (found.state, found.queued) == ("open", True)

    def test_all_facts_take_one_question(self, world):
        """GitHub counts questions."""
        world.work(BRANCH, b="two\n")
        number = world.forge.open(draft()).number
        asked = len(world.state.read()["asked"])
        facts(world, number)
        assert len(world.state.read()["asked"]) - asked == 1

    @pytest.mark.parametrize(
        "fault", ["gh: API rate limit exceeded (HTTP 403)", "error connecting to api.github.com"]
    )
    def test_a_limit_or_a_broken_line_is_no_refusal(self, world, fault):
        """The same question may be answered later."""
        with world.state.changing() as known:
            known["fault"] = fault
        assert isinstance(world.forge.facts(1, NOW, None), ForgeSilent)

    def test_a_missing_login_says_how_to_get_one(self, world):
        """It is the operator's own; fleet has none."""
        env = {**gh_env(world.state), "SCRIPTED_GH_LOGIN": "none"}
        forge = GitHub(address_of("git@github.com:team/app.git", "auto"), env)
        answer = forge.open(draft())
        assert isinstance(answer, ForgeSilent)
        assert "gh auth login" in answer.why

    def test_without_gh_it_is_said(self, world):
        """A program that is not there is named."""
        forge = GitHub(address_of("git@github.com:team/app.git", "auto"), {"PATH": ""})
        answer = forge.open(draft())
        assert isinstance(answer, ForgeSilent)
        assert "gh is not installed" in answer.why
