"""`[accounts.NAME]` as it is written into runtime.toml, read from it and refused."""

import pytest

from fleet import config
from fleet.config import runtime_toml
from fleet.config.accounts import problem
from fleet.errors import ConfigError


class TestDeclared:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "runtime.toml"
        path.write_text(config.default_text())
        return path

    def test_an_account_is_written_and_read(self, file):
        """Comments and order of the file are kept; what is not said has its default."""
        changes = {"coder": "claude", "directory": "/a", "weight": 3}
        text = runtime_toml.changed(file.read_text(), changes, file, "accounts", "work")
        assert text.startswith(file.read_text())
        account = runtime_toml.checked(text, file).accounts["work"]
        assert (account.coder, account.weight, account.stop_at) == ("claude", 3, 100)
        gone = runtime_toml.changed(text, None, file, "accounts", "work")
        assert runtime_toml.checked(gone, file).accounts == {}

    def test_a_reserve_of_all_is_that_of_each_without_its_own(self, file):
        """Unless it says otherwise."""
        text = 'stop_at = 90\n[accounts.a]\ncoder = "claude"\ndirectory = "/a"\n'
        text += '[accounts.b]\ncoder = "claude"\ndirectory = "/b"\nstop_at = 50\n'
        accounts = runtime_toml.checked(text, file).accounts
        assert [accounts[name].stop_at for name in "ab"] == [90, 50]

    @pytest.mark.parametrize(
        ("body", "complaint"),
        [
            ('coder = "claude"', "neither a directory nor a secret"),
            ('directory = "/a"', "has no coder"),
            ('coder = "claude"\ndirectory = "a"', "directory must be an absolute path"),
            (
                'coder = "claude"\ndirectory = "/a"\nweight = -1',
                "weight must be between 0 and 1000",
            ),
            (
                'coder = "claude"\ndirectory = "/a"\nstop_at = 0',
                "stop_at must be between 1 and 100",
            ),
            ('coder = "claude"\ndirectory = "/a"\nenabled = 1', "must be true or false"),
            ('coder = "claude"\ndirectory = "/a"\nkey = "x"', "key is not a key of an account"),
            ('coder = "claude"\nsecret = "sk-ant-4711"', "say where the secret is"),
            ('coder = "claude"\nsecret = "sk-ant-4711\\n"', "say where the secret is"),
            ('coder = "claude"\nsecret = 4711', "say where the secret is"),
            ('coder = "claude"\nvariable = "sk-ant-4711"', "must be the name of a variable"),
        ],
    )
    def test_what_cannot_be_is_refused_with_its_place(self, file, body, complaint):
        """And a secret that was put in the wrong place is not repeated."""
        with pytest.raises(ConfigError) as caught:
            runtime_toml.checked(f"[accounts.work]\n{body}\n", file)
        assert complaint in caught.value.message
        assert "line 1" in caught.value.message
        assert "4711" not in caught.value.message

    def test_two_accounts_have_two_directories(self, file):
        """In one they would overwrite each other's login."""
        body = 'coder = "claude"\ndirectory = "/a/"\n'
        with pytest.raises(ConfigError, match="a and b have one directory: /a"):
            runtime_toml.checked(f"[accounts.a]\n{body}[accounts.b]\n{body}", file)

    def test_a_link_to_a_directory_is_that_directory(self, file, tmp_path):
        """Two names of one place are one place."""
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        text = f'[accounts.a]\ncoder = "claude"\ndirectory = "{tmp_path}/real"\n'
        text += f'[accounts.b]\ncoder = "claude"\ndirectory = "{tmp_path}/link"\n'
        with pytest.raises(ConfigError, match="a and b have one directory"):
            runtime_toml.checked(text, file)

    @pytest.mark.parametrize("name", ["", "A", "a b", "../a", "-a", "a" * 60])
    def test_a_name_is_one_that_a_directory_can_bear(self, file, name):
        """Small letters, digits, and two signs."""
        body = {"coder": "claude", "directory": "/a"}
        with pytest.raises(ConfigError, match="no name for an account"):
            runtime_toml.checked(runtime_toml.changed("", body, file, "accounts", name), file)

    @pytest.mark.parametrize("where", ["env:TOKEN", "file:/a/b", "keyring:fleet/work"])
    def test_a_secret_has_a_place(self, where):
        """Three kinds of them."""
        assert problem("secret", where) == ""
