"""How an account reaches an agent's environment, and what can be wrong with it."""

import json
from base64 import urlsafe_b64encode
from datetime import timedelta
from pathlib import Path

import pytest

from fleet.accounts import credentials
from fleet.accounts.kept_secret import SecretTrouble, read_secret
from fleet.coders import find
from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder
from fleet.schemas import Account
from tests.builders import HOUR, NOW


def ends(coder, data):
    """When the login in a file's content ends, if there is one."""
    login = coder.read_login(data)
    return login.ends if login is not None else None


class TestLogin:
    @pytest.fixture
    def folder(self, tmp_path):
        path = tmp_path / "state"
        path.mkdir()
        return path

    def account(self, folder, secret="", **more):
        return Account(name="work", coder="claude", directory=str(folder), secret=secret, **more)

    def test_an_agent_is_given_the_directory_and_the_secret(self, folder, tmp_path):
        """By the names that its CLI knows."""
        key = tmp_path / "key"
        key.write_text("tok-1\n")
        key.chmod(0o600)
        given = credentials.variables(self.account(folder, f"file:{key}"), ClaudeCoder, {})
        assert given == {"CLAUDE_CONFIG_DIR": str(folder), "CLAUDE_CODE_OAUTH_TOKEN": "tok-1"}
        account = self.account(folder, "env:KEY", variable="ANTHROPIC_API_KEY")
        given = credentials.variables(account, ClaudeCoder, {"KEY": "k"})
        assert given["ANTHROPIC_API_KEY"] == "k"

    def test_another_home_keeps_what_git_knows_of_its_user(self, folder):
        """Agy can be moved with its whole home only."""
        account = Account(name="a", coder="agy", directory=str(folder))
        given = credentials.variables(account, find("agy"), {"HOME": "/home/ada"})
        assert given == {"HOME": str(folder), "GIT_CONFIG_GLOBAL": "/home/ada/.gitconfig"}
        (folder / ".config/git").mkdir(parents=True)
        (folder / ".config/git/config").touch()
        given = credentials.variables(account, find("agy"), {"HOME": str(folder)})
        assert given["GIT_CONFIG_GLOBAL"] == str(folder / ".config/git/config")

    def test_the_users_own_login_is_left_alone(self):
        """Nothing is set."""
        assert credentials.variables(Account(name="claude", coder="claude"), ClaudeCoder, {}) == {}

    def test_a_directory_without_a_login_is_told(self, folder):
        """Unless it has a secret, or settings that may know another way in."""
        assert "fleet account login work" in credentials.no_login(self.account(folder), ClaudeCoder)
        assert credentials.no_login(self.account(folder, "env:KEY"), ClaudeCoder) == ""
        for name in (".credentials.json", "settings.json"):
            (folder / name).write_text("{}")
            assert credentials.no_login(self.account(folder), ClaudeCoder) == ""
            (folder / name).unlink()

    def test_what_is_wrong_is_said_plainly(self, folder, tmp_path):
        """Gone, readable by others, empty, not to be had; and never the secret itself."""
        key = tmp_path / "key"
        say = lambda account: credentials.trouble(account, ClaudeCoder, {})  # noqa: E731
        assert say(self.account(folder)) == ""
        assert "cannot be used: No such file" in say(self.account(tmp_path / "none"))
        assert f"there is no {key}" in say(self.account(folder, f"file:{key}"))
        key.write_text("tok-1")
        key.chmod(0o644)
        assert f"chmod 600 {key}" in say(self.account(folder, f"file:{key}"))
        key.chmod(0o600)
        assert say(self.account(folder, f"file:{key}")) == ""
        key.write_text(" \n")
        assert "its secret is gone" in say(self.account(folder, f"file:{key}"))
        key.write_text("tok-1\ntok-2")
        assert "no single line" in say(self.account(folder, f"file:{key}"))
        assert "the variable TOKEN" in say(self.account(folder, "env:TOKEN"))
        assert "is no directory" in say(self.account(key))

    def test_a_login_that_others_can_read_is_not_used(self, folder):
        """Every user of the machine could spend."""
        (folder / ".credentials.json").write_text("{}")
        (folder / ".credentials.json").chmod(0o640)
        assert "others can read" in credentials.trouble(self.account(folder), ClaudeCoder, {})

    def test_a_directory_that_may_not_be_read_is_a_trouble_and_no_crash(self, folder, monkeypatch):
        """The supervisor asks this of every task that waits."""
        real = Path.stat

        def refused(path, **more):
            if path.name == ".credentials.json":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, **more)

        monkeypatch.setattr(Path, "stat", refused)
        assert "Permission denied" in credentials.trouble(self.account(folder), ClaudeCoder, {})

    @pytest.mark.parametrize(
        "settings", [{"apiKeyHelper": "/bin/key"}, {"env": {"ANTHROPIC_API_KEY": "tok-1"}}]
    )
    def test_an_account_whose_own_settings_set_a_key_is_not_used(self, folder, settings):
        """Each of its runs would be ended for it; the key itself is not repeated."""
        (folder / "settings.json").write_text(json.dumps(settings))
        said = credentials.trouble(self.account(folder), ClaudeCoder, {})
        assert "is used instead of its login" in said
        assert "tok-1" not in said
        (folder / "settings.json").write_text('{"model": "opus", "env": []}')
        assert credentials.trouble(self.account(folder), ClaudeCoder, {}) == ""

    def test_a_secret_is_read_from_the_keyring(self, folder, keyring):
        """A secret that is not there, and a keyring that fails, are each a clear trouble."""
        keyring.holds(fleet={"work": "tok-9"})
        account = self.account(folder, "keyring:fleet/work")
        assert read_secret(account.secret, {}) == "tok-9"
        with pytest.raises(SecretTrouble, match="its secret is gone"):
            read_secret("keyring:fleet/other", {})
        keyring.fails("KeyringLocked('Failed to unlock the collection!')")
        with pytest.raises(SecretTrouble, match="cannot be read: KeyringLocked: Failed to unlock"):
            read_secret(account.secret, {})

    def test_the_end_of_a_login_is_read_from_where_it_stands(self, folder):
        """Claude writes it down, codex has it in its token; what cannot be read tells nothing."""
        soon = int(NOW.timestamp()) + 60
        claude = {"claudeAiOauth": {"accessToken": "a", "expiresAt": soon * 1000}}
        assert ends(ClaudeCoder, json.dumps(claude).encode()) == NOW + timedelta(minutes=1)
        claims = urlsafe_b64encode(json.dumps({"exp": soon}).encode()).decode().rstrip("=")
        codex = {"tokens": {"access_token": f"x.{claims}.y"}}
        assert ends(CodexCoder, json.dumps(codex).encode()) == NOW + timedelta(minutes=1)
        for data in (b"", b"{", b"\xff", b'{"tokens": {"access_token": "a.%%%.c"}}', b"[]"):
            assert ends(ClaudeCoder, data) is None
            assert ends(CodexCoder, data) is None
        (folder / ".credentials.json").write_text(json.dumps(claude))
        assert credentials.login_ends(self.account(folder), ClaudeCoder, {}, NOW) is not None
        assert credentials.login_ends(self.account(folder), ClaudeCoder, {}, NOW - HOUR) is None
        token = self.account(folder, "env:X")
        assert credentials.login_ends(token, ClaudeCoder, {}, NOW) is None


@pytest.mark.parametrize(
    ("source", "env", "wrong"),
    [
        ("none", {}, False),
        ("", {}, False),
        ("ANTHROPIC_API_KEY", {"ANTHROPIC_API_KEY": "k"}, False),
        ("ANTHROPIC_API_KEY", {}, True),
        ("apiKeyHelper", {}, True),
        ("none", {"ANTHROPIC_API_KEY": "k"}, True),
    ],
)
def test_a_login_that_was_not_meant_is_told(source, env, wrong):
    """A key that fleet did not hand over, or a login in the place of the key."""
    assert bool(ClaudeCoder.wrong_login(source, env)) == wrong
