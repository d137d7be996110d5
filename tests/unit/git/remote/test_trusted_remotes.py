"""Where fleet may push with the operator's logins."""

import pytest
from msgspec import structs

from fleet.git.remote.trusted_remotes import is_trusted, trust_remote
from fleet.git.remote.upstream import Upstream
from tests.builders import NOW

ORIGIN = Upstream(remote="origin", url="git@example.org:team/app.git", branch="main")


def test_only_a_confirmed_address_of_the_same_repository_is_trusted(tmp_path):
    """An agent that rewrites the project's configuration leads no push elsewhere."""
    trust_remote(tmp_path, "/srv/app/.git", ORIGIN, NOW)
    assert is_trusted(tmp_path, "/srv/app/.git", ORIGIN.url)
    evil = structs.replace(ORIGIN, url="git@evil.example.org:team/app.git")
    assert not is_trusted(tmp_path, "/srv/app/.git", evil.url)
    assert not is_trusted(tmp_path, "/srv/other/.git", ORIGIN.url)


def test_a_second_address_leaves_the_first_trusted(tmp_path):
    """A project may have two remotes, for two branches."""
    other = structs.replace(ORIGIN, remote="mirror", url="/srv/git/app.git")
    trust_remote(tmp_path, "/srv/app/.git", ORIGIN, NOW)
    trust_remote(tmp_path, "/srv/app/.git", other, NOW)
    assert is_trusted(tmp_path, "/srv/app/.git", ORIGIN.url)
    assert is_trusted(tmp_path, "/srv/app/.git", other.url)


def test_a_password_in_an_address_is_not_kept_and_may_change(tmp_path):
    """The address is what the operator confirmed; a login is the project's own affair."""
    mine = structs.replace(ORIGIN, url="https://me:hunter2@example.org/app.git")
    trust_remote(tmp_path, "/srv/app/.git", mine, NOW)
    assert "hunter2" not in (tmp_path / "remotes.json").read_text()
    assert is_trusted(tmp_path, "/srv/app/.git", mine.url)
    later = structs.replace(ORIGIN, url="https://me:hunter3@example.org/app.git")
    assert is_trusted(tmp_path, "/srv/app/.git", later.url)
    evil = structs.replace(ORIGIN, url="https://me:hunter2@evil.example.org/app.git")
    assert not is_trusted(tmp_path, "/srv/app/.git", evil.url)


@pytest.mark.parametrize(
    ("confirmed", "found"),
    [
        ("ssh://git@example.org/app.git", "ssh://eve@example.org/app.git"),
        ("ssh://git@example.org/app.git", "ssh://example.org/app.git"),
        ("ssh://git@example.org/app.git", "ssh://git@example.org:2222/app.git"),
        ("git@example.org:app.git", "eve@example.org:app.git"),
        ("git@example.org:app.git", "example.org:app.git"),
        ("https://example.org/app.git", "http://example.org/app.git"),
        ("https://example.org/app.git", "https://example.org@evil.example.org/app.git"),
        ("https://example.org/app.git", "https://evil.example.org#@example.org/app.git"),
        ("https://example.org/app.git", "https://evil.example.org?@example.org/app.git"),
        ("https://example.org/app.git", "https://[example.org/app.git"),
        ("/srv/git/app.git", "file:///srv/git/other.git"),
        ("/srv/git/app.git", "/srv/git/app.git/../other.git"),
    ],
)
def test_another_user_of_ssh_another_host_and_another_way_are_not_trusted(
    tmp_path, confirmed, found
):
    """Over ssh the user is a part of where an address leads: each has a home, and keys, of its own.
    A login in an https address is none.
    """
    trust_remote(tmp_path, "/srv/app/.git", structs.replace(ORIGIN, url=confirmed), NOW)
    assert is_trusted(tmp_path, "/srv/app/.git", confirmed)
    assert not is_trusted(tmp_path, "/srv/app/.git", found)
    assert not is_trusted(tmp_path, "/srv/app/.git", "")


def test_of_an_https_address_the_login_does_not_count(tmp_path):
    """The operator confirmed the place; a task of another host names it without a login."""
    mine = structs.replace(ORIGIN, url="https://me:hunter2@example.org/app.git")
    trust_remote(tmp_path, "/srv/app/.git", mine, NOW)
    for url in ("https://example.org/app.git", "https://you@example.org/app.git/"):
        assert is_trusted(tmp_path, "/srv/app/.git", url)
