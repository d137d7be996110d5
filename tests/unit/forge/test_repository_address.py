"""Which repository on which forge an address of git leads to."""

import pytest

from fleet.errors import FleetError
from fleet.forge.repository_address import RepositoryAddress, address_of


@pytest.mark.parametrize(
    ("url", "forge", "kind", "site"),
    [
        ("git@github.com:team/app.git", "auto", "github", "https://github.com"),
        ("https://github.com/team/app", "auto", "github", "https://github.com"),
        ("ssh://git@ghe.example.org/team/app.git", "github", "github", "https://ghe.example.org"),
        ("https://git.example.org/team/app.git", "auto", "gitea", "https://git.example.org"),
        ("http://127.0.0.1:3000/team/app.git", "auto", "gitea", "http://127.0.0.1:3000"),
        ("ssh://git@git.example.org:2222/team/app.git", "auto", "gitea", "https://git.example.org"),
        ("https://me:secret@example.org/git/team/app", "auto", "gitea", "https://example.org/git"),
        ("git@intern:team/app.git", "https://git.example.org/", "gitea", "https://git.example.org"),
    ],
)
def test_an_address_leads_to_a_repository(url, forge, kind, site):
    """By ssh the pages are at the host's usual port; a setting says where they are elsewhere."""
    found = address_of(url, forge)
    assert found == RepositoryAddress(kind=kind, site=site, owner="team", name="app")


@pytest.mark.parametrize("url", ["/srv/git/app.git", "https://example.org/app", "git@host:../a/b"])
def test_what_is_no_forge_is_refused_with_the_way_out(url):
    """A path on the disk can be pushed to, and has no pull requests."""
    with pytest.raises(FleetError) as caught:
        address_of(url, "auto")
    assert "forge=" in caught.value.hint
