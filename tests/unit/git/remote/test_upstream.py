"""Where a branch is pushed to, by the project's configuration."""

import pytest

from fleet.git.remote.upstream import (
    NoUpstream,
    Upstream,
    checked_url,
    tracking_ref,
    upstream_of,
    without_password,
)


def test_a_branch_is_pushed_to_what_it_follows(project):
    """The remote and the name there are those that `git push -u` wrote."""
    project.repo.git("config", "branch.main.merge", "refs/heads/trunk")
    found = upstream_of(project.project_git, "main")
    tracking = "refs/remotes/origin/trunk"
    where = {"remote": "origin", "url": str(project.bare.root), "branch": "trunk"}
    assert found == Upstream(**where, tracking=tracking)


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (("+refs/heads/*:refs/remotes/origin/*",), "refs/remotes/origin/feature/x"),
        (("refs/heads/main:refs/remotes/o/m", "refs/heads/feature/*:refs/remotes/f/*"),
         "refs/remotes/f/x"),
        (("+refs/heads/feature/x:refs/remotes/o/only",), "refs/remotes/o/only"),
        (("+refs/heads/*:refs/heads/*",), ""),
        (("+refs/pull/*:refs/remotes/origin/pr/*", ":", "*"), ""),
        ((), ""),
    ],
)  # fmt: skip
def test_the_note_of_a_remote_branch_is_where_a_fetch_puts_it(rules, found):
    """Below refs/remotes alone: a mirror's rules would have a push move branches."""
    assert tracking_ref(rules, "refs/heads/feature/x") == found


def test_the_address_for_pushing_counts_and_a_path_is_made_absolute(project):
    """`pushurl` is where git pushes; a relative path is seen from the project."""
    project.repo.git("config", "remote.origin.pushurl", "../elsewhere.git")
    found = upstream_of(project.project_git, "other")
    assert found.url == str(project.repo.root.parent / "elsewhere.git")
    assert found.branch == "other"


def test_without_a_remote_the_way_out_is_said(project):
    """No guess: a person says where work goes."""
    project.repo.git("remote", "remove", "origin")
    with pytest.raises(NoUpstream, match="has no remote") as caught:
        upstream_of(project.project_git, "main")
    assert "push -u" in caught.value.hint


@pytest.mark.parametrize("url", ["", "ext::sh -c true", "--upload-pack=x", "a\nb", "foo::bar"])
def test_an_address_that_could_run_a_program_is_refused(url):
    """Git takes some words for options or transports."""
    with pytest.raises(NoUpstream):
        checked_url(url, "/srv/app")


@pytest.mark.parametrize(
    "url",
    [
        "git@example.org:team/app.git",
        "ssh://git@example.org:2222/team/app.git",
        "https://example.org/team/app.git",
        "/srv/git/app.git",
        "file:///srv/git/app.git",
    ],
)
def test_an_ordinary_address_is_taken_as_it_is(url):
    """What git itself would use."""
    assert checked_url(url, "/srv/app") == url


def test_a_password_in_an_address_is_not_shown():
    """Messages and records are read by others."""
    text = "unable to access 'https://me:s3cret@example.org/x.git'"
    assert without_password(text) == "unable to access 'https://me:***@example.org/x.git'"
