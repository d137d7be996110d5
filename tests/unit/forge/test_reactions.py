"""What follows from the facts of a pull request."""

from datetime import timedelta

from msgspec import structs

from fleet.forge.forge_protocol import ForgeCheck, PullRequestFacts, ReviewThread
from fleet.forge.pull_request_json import PullRequest
from fleet.forge.reactions import (
    AskPerson,
    KeepWatching,
    MergedThere,
    MergeNow,
    SendBack,
    noted,
    reactions,
)
from tests.builders import NOW

HEAD, OTHER = "a" * 40, "b" * 40
GREEN = ForgeCheck(name="build", state="passed")
RED = ForgeCheck(name="unit tests", state="failed", text="3 failed")
REMARK = ReviewThread(id="T1@C1", author="ann", text="name it better", path="b.py", line=3)


def a_pr(**changes):
    made = PullRequest(
        url="git@example.org:team/app.git", number=7, page="", branch="fleet/fleet-1", base="main",
        heads=(HEAD,), pushed_at=NOW - timedelta(hours=1), next_at=NOW,
    )  # fmt: skip
    return structs.replace(made, **changes)


def the_facts(**changes):
    made = PullRequestFacts(state="open", head=HEAD, mergeable=True, checks=(GREEN,), at=NOW)
    return structs.replace(made, **changes)


def react(pr=None, *, may_merge=True, now=NOW, **changes):
    return reactions(pr or a_pr(), the_facts(**changes), may_merge=may_merge, now=now)


def kinds(found):
    """Of each reaction the name, and what it is about: the second word of its key."""
    return [(type(each).__name__, getattr(each, "key", " ").split(" ")[1]) for each in found]


def after(pr, **changes):
    """The pull request once the reactions to these facts are carried out."""
    return noted(pr, the_facts(**changes), react(pr, **changes))


def test_what_is_green_and_open_is_merged():
    """The head that fleet verified and nothing else."""
    assert react() == (MergeNow(head=HEAD),)


def test_a_merge_is_asked_for_once():
    """A forge that takes its time is not asked again for the same head."""
    pr = after(a_pr())
    assert kinds(react(pr)) == [("KeepWatching", "")]


def test_without_leave_it_waits_for_a_person():
    """With `land = ask` a person merges, on the forge or by `fleet land`."""
    (found,) = react(may_merge=False)
    assert isinstance(found, KeepWatching)
    assert "person" in found.why


def test_each_trouble_is_sent_by_itself_so_that_none_hides_another():
    """A failing check must not keep a reviewer's words from the agent."""
    pr = a_pr(facts=the_facts(mergeable=False))
    found = react(pr, mergeable=False, checks=(RED,), threads=(REMARK,))
    sent = [("SendBack", "conflict"), ("SendBack", "checks"), ("SendBack", "review")]
    assert kinds(found) == sent


def test_the_same_trouble_of_the_same_head_is_sent_once():
    """Polling again finds the same facts."""
    pr = after(a_pr(), checks=(RED,), threads=(REMARK,))
    assert kinds(react(pr, checks=(RED,), threads=(REMARK,))) == [("KeepWatching", "")]


def test_checks_that_fail_again_on_a_new_head_are_a_new_round_and_the_third_asks_a_person():
    """Two rounds with the agent; then its tries are used up."""
    pr, found = a_pr(), ()
    for number in range(3):
        head = str(number) * 40
        pr = structs.replace(pr, heads=(*pr.heads, head))
        found = react(pr, head=head, checks=(RED,))
        pr = noted(pr, the_facts(head=head, checks=(RED,)), found)
        wanted = "AskPerson" if number == 2 else "SendBack"
        assert kinds(found) == [(wanted, "checks")]
    assert "2 rounds" in found[0].why
    assert kinds(react(pr, head="2" * 40, checks=(RED,))) == [("KeepWatching", "")]


def test_failed_checks_wait_until_none_runs():
    """Each round counts, so the agent gets all failures at once."""
    slow = ForgeCheck(name="slow", state="running")
    assert kinds(react(checks=(RED, slow))) == [("KeepWatching", "")]


def test_a_remark_is_sent_once_whatever_head_comes_after():
    """The agent answered it; the reviewer has the next word, and nothing is merged until then."""
    pr = after(a_pr(), threads=(REMARK,))
    pr = structs.replace(pr, heads=(*pr.heads, OTHER))
    (found,) = react(pr, head=OTHER, threads=(REMARK,))
    assert isinstance(found, KeepWatching)
    assert "remark" in found.why


def test_new_remarks_go_back_three_times_and_then_to_a_person():
    """A fourth round of remarks is for people."""
    pr, seen = a_pr(), []
    for number in range(4):
        remark = structs.replace(REMARK, id=f"T{number}@C")
        seen += kinds(react(pr, threads=(remark,)))
        pr = after(pr, threads=(remark,))
    assert seen == [("SendBack", "review")] * 3 + [("AskPerson", "review")]


def test_the_agent_is_told_where_and_what():
    """The words of reviewers and checks, with their places."""
    back = react(checks=(RED,), threads=(REMARK,))
    text = "\n".join(each.text for each in back if isinstance(each, SendBack))
    assert "unit tests: 3 failed" in text
    assert "ann, b.py:3:\nname it better" in text


def test_a_conflict_counts_when_the_forge_says_so_twice():
    """A forge that has not tried the merge yet may call it impossible."""
    assert kinds(react(mergeable=False)) == [("KeepWatching", "")]
    pr = a_pr(facts=the_facts(mergeable=False))
    assert kinds(react(pr, mergeable=False)) == [("SendBack", "conflict")]


def test_no_check_is_no_consent_at_first():
    """Checks of a commit that was just pushed may not have begun."""
    pr = a_pr(pushed_at=NOW - timedelta(seconds=5))
    assert kinds(react(pr, checks=())) == [("KeepWatching", "")]
    assert react(pr, checks=(), now=NOW + timedelta(minutes=2)) == (MergeNow(head=HEAD),)


def test_a_head_of_another_hand_is_never_merged_by_fleet():
    """It was not verified; a person may merge it on the forge."""
    (found,) = react(head=OTHER)
    assert isinstance(found, AskPerson)
    assert found.key.endswith(" head")
    assert kinds(react(after(a_pr(), head=OTHER), head=OTHER)) == [("KeepWatching", "")]


def test_a_forge_that_lags_behind_a_push_is_waited_for():
    """The head is one that fleet pushed before."""
    assert kinds(react(a_pr(heads=(OTHER, HEAD)), head=OTHER)) == [("KeepWatching", "")]


def test_one_that_was_closed_asks_a_person():
    """Closing without merging is a word of a person's."""
    (found,) = react(state="closed")
    assert isinstance(found, AskPerson)
    assert found.key.endswith(" closed")
    assert kinds(react(after(a_pr(), state="closed"), state="closed")) == [("KeepWatching", "")]


def test_what_the_forge_merged_is_merged_whatever_else_it_says():
    """A person may merge over open remarks and failed checks."""
    found = react(state="merged", merge_commit=OTHER, checks=(RED,), threads=(REMARK,))
    assert found == (MergedThere(commit=OTHER),)


def test_a_queue_is_watched_and_one_that_was_thrown_out_asks():
    """Queued is not merged, and not queued any more is not merged either."""
    pr = after(a_pr(), has_queue=True, queued=True)
    assert kinds(react(pr, has_queue=True, queued=True)) == [("KeepWatching", "")]
    assert kinds(react(pr, has_queue=True)) == [("AskPerson", "queue")]


def test_reviews_decide():
    """Changes that are requested, or a review that is required, hold the merge."""
    assert kinds(react(review="changes_requested")) == [("KeepWatching", "")]
    assert kinds(react(review="required")) == [("KeepWatching", "")]
    assert react(review="approved") == (MergeNow(head=HEAD),)
