"""What a clone takes over of its project's settings: nothing that runs, nothing that is secret."""

import pytest

from fleet.git.clone.source_facts import clone_config, facts_of, plain_url
from fleet.git.repository import Repository, find
from tests.clones import clone_of, git

REPO = Repository(root="/srv/app", git_dir="/srv/app/.git", common_dir="/srv/app/.git")


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://example.org/app.git", "https://example.org/app.git"),
        ("https://token@example.org/app.git", "https://example.org/app.git"),
        ("https://me:secret@example.org/app.git", "https://example.org/app.git"),
        ("ssh://me:secret@example.org:22/app", "ssh://me@example.org:22/app"),
        ("git@example.org:app.git", "git@example.org:app.git"),
        ("../other", "/srv/other"),
        ("/srv/other.git", "/srv/other.git"),
        ("ext::sh -c evil", None),
        ("fd::7", None),
        ("--upload-pack=evil", None),
        ("weird://example.org/app", None),
        ("https://example.org/\nevil", None),
        ("https://[example.org/app", None),
        ("ssh://me@ex\u2100mple.org/app", None),
    ],
)
def test_a_remote_is_taken_over_by_a_plain_address(url, taken):
    """Without a password, and never one that names a program."""
    assert plain_url(url, "/srv/app") == taken


def test_nothing_that_runs_is_taken_over():
    """Of a configuration full of programs only how files are written, who the author is, and the
    plain remotes are left.
    """
    settings = {
        "core.autocrlf": "input",
        "core.hookspath": "/evil",
        "core.sshcommand": "evil",
        "user.name": "me",
        "filter.evil.clean": "evil",
        "remote.origin.url": "https://example.org/app.git",
        "remote.origin.uploadpack": "evil",
        "remote.self.url": "/srv/app",
        "remote.ext.url": "ext::evil",
        "alias.status": "!evil",
        "credential.helper": "!evil",
    }
    text = clone_config(settings, REPO)
    assert "evil" not in text
    assert 'autocrlf = "input"' in text
    assert 'name = "me"' in text
    assert '[remote "origin"]' in text
    assert "/srv/app" not in text


def test_an_agent_cannot_push_into_the_project_by_accident(home, repo):
    """The project is no remote of its clone; those of the project are there to be fetched from."""
    repo.git("remote", "add", "origin", "https://me:secret@example.org/app.git")
    place = clone_of(home, repo)
    assert git(place, "remote", "-v").split()[:2] == ["origin", "https://example.org/app.git"]
    assert str(repo.root) not in (place / ".git/config").read_text()
    assert "secret" not in (place / ".git/config").read_text()


def test_a_setting_of_the_user_counts_in_a_clone_that_lies_elsewhere(repo, tmp_path, monkeypatch):
    """An author by the project's directory, as `includeIf` gives it."""
    (tmp_path / "work").write_text("[user]\nname = at work\n")
    text = f'[includeIf "gitdir:{repo.root}/"]\npath = {tmp_path}/work\n'
    (tmp_path / ".gitconfig").write_text(text)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert 'name = "at work"' in facts_of(find(str(repo.root))).config
