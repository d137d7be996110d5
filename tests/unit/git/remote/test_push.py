"""Pushing to bare repositories on the disk: forward only, and what the remote says counts."""

import os

from fleet.git.remote.push import (
    Pushed,
    RemoteMoved,
    RemoteRefused,
    delete_branch,
    fetch_tip,
    push_forward,
    push_task_branch,
)
from fleet.git.remote.remote_git import RemoteSilent
from tests.unit.git.remote.conftest import MAIN

TASK = "refs/heads/fleet/fleet-1"


def push(project, old, new, **options):
    return push_forward(project.remote(**options), project.git, ref=MAIN, old=old, new=new)


def test_a_commit_that_holds_the_remotes_is_pushed(project):
    """The plain way: the remote branch is at the commit, by the remote's own word."""
    new = project.work(b="two\n")
    assert push(project, project.first, new) == Pushed(now=new)
    assert project.at() == new


def test_a_remote_that_moved_is_left_and_its_commits_are_there_to_fold_onto(project):
    """A lease names the value that was read, so another person's push is never overwritten."""
    new = project.work(b="two\n")
    theirs = project.other_hand(c="three\n")
    assert push(project, project.first, new) == RemoteMoved(now=theirs)
    assert project.at() == theirs
    assert project.git.line("cat-file", "-t", theirs) == "commit"


def test_history_that_the_remote_has_is_never_thrown_away(project):
    """A lease alone would let a commit through that does not hold the remote's."""
    theirs = project.other_hand(c="three\n")
    new = project.work(b="two\n")
    assert isinstance(fetch_tip(project.remote(), project.git, MAIN), str)
    assert push(project, theirs, new) == RemoteMoved(now=theirs)
    assert project.at() == theirs


def test_a_push_that_was_done_before_is_a_success(project):
    """A process that was killed between push and record asks again, and learns that it was done."""
    new = project.work(b="two\n")
    push(project, project.first, new)
    assert push(project, project.first, new) == Pushed(now=new)


def test_a_commit_below_another_persons_is_pushed_all_the_same(project):
    """Between push and read-back another person may have put a commit on top."""
    new = project.work(b="two\n")
    push(project, project.first, new)
    theirs = project.other_hand(c="three\n")
    assert push(project, project.first, new) == Pushed(now=theirs)


def test_a_remote_that_refuses_says_why(project):
    """A rule of the remote is told in its own words; the branch stays."""
    project.hook("pre-receive", "echo 'main is frozen until Monday' >&2; exit 1")
    answer = push(project, project.first, project.work(b="two\n"))
    assert isinstance(answer, RemoteRefused)
    assert "pre-receive hook declined" in answer.why
    assert "main is frozen until Monday" in answer.why
    assert project.at() == project.first


def test_a_remote_that_hangs_is_given_up(project, tmp_path):
    """A remote that does not answer holds a thread for a bounded while, and nothing is lost."""
    os.mkfifo(tmp_path / "never")
    project.hook("pre-receive", f"exec cat {tmp_path / 'never'}")
    answer = push(project, project.first, project.work(b="two\n"), patience=1.5)
    assert isinstance(answer, RemoteSilent)
    assert "did not answer" in answer.why


def test_a_remote_that_is_gone_is_silent(project):
    """A disk that is not mounted, or a host that is down, may be there again later."""
    project.bare.root.rename(project.bare.root.with_name("away.git"))
    answer = fetch_tip(project.remote(), project.git, MAIN)
    assert isinstance(answer, RemoteSilent)
    assert "does not appear to be a git repository" in answer.why


def test_a_branch_that_the_remote_lacks_is_made(project):
    """An empty remote is where a new project begins."""
    ref = "refs/heads/release"
    assert fetch_tip(project.remote(), project.git, ref) == ""
    done = push_forward(project.remote(), project.git, ref=ref, old="", new=project.first)
    assert done == Pushed(now=project.first)


def test_the_hooks_and_settings_of_the_project_take_no_part(project, tmp_path):
    """An agent can write the project's configuration; pushing has the operator's logins."""
    mark = tmp_path / "ran"
    hook = project.repo.root / ".git/hooks/pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    project.repo.git("config", f"url.{tmp_path}/evil.insteadOf", str(project.bare.root))
    project.repo.git("config", "credential.helper", f"!touch {mark}")
    new = project.work(b="two\n")
    assert push(project, project.first, new) == Pushed(now=new)
    assert not mark.exists()


def test_no_program_is_run_for_an_address(project):
    """`ext::` runs a shell command as its transport: never, whatever the configuration says."""
    remote = project.remote()
    remote.url = "ext::sh -c 'touch ran'"
    assert isinstance(fetch_tip(remote, project.git, MAIN), RemoteSilent)


def test_the_branch_of_a_task_may_be_rewritten_but_not_over_another_hand(project):
    """The branch goes where its task went, as it is fleet's, unless a person pushed to it."""
    one = project.work(b="two\n")
    project.repo.git("reset", "-q", "--hard", project.first)
    two = project.work(b="another\n")
    remote = project.remote()
    assert push_task_branch(remote, project.git, ref=TASK, old="", new=one) == Pushed(now=one)
    assert push_task_branch(remote, project.git, ref=TASK, old=one, new=two) == Pushed(now=two)
    assert push_task_branch(remote, project.git, ref=TASK, old=one, new=one) == RemoteMoved(now=two)


def test_a_branch_is_deleted_only_where_it_stands_at_the_commit(project):
    """What a person pushed to a task's branch is not deleted with it."""
    one, two = project.first, project.work(b="two\n")
    remote = project.remote()
    push_task_branch(remote, project.git, ref=TASK, old="", new=two)
    assert delete_branch(remote, ref=TASK, commit=one) == Pushed(now=two)
    assert project.at(TASK) == two
    assert delete_branch(remote, ref=TASK, commit=two) == Pushed(now="")
    assert project.at(TASK) == ""
