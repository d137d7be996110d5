"""What `fleet doctor` can tell of logins without asking any model."""

import json
import os

import msgspec
import pytest

from fleet.doctor import check_coders, check_logins
from tests.builders import a_program
from tests.unit.doctor.conftest import with_env, with_settings

CREDENTIALS = {"claudeAiOauth": {"accessToken": "a", "subscriptionType": "max"}}
SAYS_IN = 'echo \'{"loggedIn": true, "authMethod": "claude.ai", "subscriptionType": "max"}\''
SAYS_OUT = "echo '{\"loggedIn\": false}'; exit 1"


@pytest.fixture
def claude(tmp_path):
    """Looks at a claude that says something, with files and variables."""
    folder = tmp_path / "claude"
    folder.mkdir()

    def look(script, *, credentials=None, settings=None, **env):
        if credentials is not None:
            (folder / ".credentials.json").write_text(json.dumps(credentials))
            (folder / ".credentials.json").chmod(0o600)
        if settings is not None:
            (folder / "settings.json").write_text(settings)
        path = a_program(tmp_path / "bin/claude", script)
        base = {"PATH": os.environ["PATH"], "CLAUDE_CONFIG_DIR": str(folder)}
        return [
            (f.check, f.severity, f.what) for f in check_logins.claude_login(str(path), base | env)
        ]

    look.folder = folder
    return look


def test_claude_is_asked_itself(claude):
    """Its word counts more than files."""
    ((check, severity, what),) = claude(SAYS_IN)
    assert (check, severity, what) == ("login", "ok", "claude: logged in, max (it says)")
    ((check, severity, what),) = claude(SAYS_OUT, credentials=CREDENTIALS)
    assert (check, severity, what) == ("login", "warning", "claude: not logged in (it says)")


@pytest.mark.parametrize(
    "script", ["echo 2.0.1", "echo '[1]'", "exit 1", "echo '{}'", "cat /dev/zero"]
)
def test_a_claude_that_does_not_know_the_question_is_judged_by_its_files(claude, script):
    """An old one, or one that prints garbage."""
    ((_, severity, what),) = claude(script)
    assert (severity, what) == ("warning", "claude: not logged in (by its files and variables)")
    ((_, severity, what),) = claude(script, credentials=CREDENTIALS)
    assert severity == "ok"
    assert "a subscription (by its files" in what


def test_a_claude_that_hangs_is_not_waited_for(claude, monkeypatch):
    """The files tell."""
    monkeypatch.setattr(check_logins, "_PATIENCE", 0.3)
    ((_, severity, _),) = claude("sleep 60", CLAUDE_CODE_OAUTH_TOKEN="x")
    assert severity == "ok"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_beside_a_subscription_bills_by_the_token(claude, name):
    """By a variable or in the settings; beside a token or a stored login."""
    for found in (
        claude(SAYS_IN, CLAUDE_CODE_OAUTH_TOKEN="x", **{name: "y"}),
        claude(SAYS_IN, credentials=CREDENTIALS, **{name: "y"}),
        claude(SAYS_IN, settings=json.dumps({"env": {name: "y"}})),
    ):
        checks = {check: what for check, _, what in found}
        assert f"{name}" in checks["billing"]
        assert "by the token" in checks["billing"]
        assert "billed by the token" in checks["login"]


def test_a_helper_for_keys_beside_a_subscription_is_told(claude):
    """It is a key as well."""
    found = claude(SAYS_IN, credentials=CREDENTIALS, settings='{"apiKeyHelper": "get-key"}')
    assert "apiKeyHelper" in found[0][2]


def test_a_key_alone_is_a_login(claude):
    """No user pays twice: the finding says how the key is paid for."""
    ((check, severity, what),) = claude(SAYS_IN, ANTHROPIC_API_KEY="y")
    assert (check, severity) == ("login", "ok")
    assert "ANTHROPIC_API_KEY, billed by the token" in what


def test_secrets_that_others_can_read_are_told(claude):
    """With the way to close them."""
    claude(SAYS_IN, credentials=CREDENTIALS)
    (claude.folder / ".credentials.json").chmod(0o644)
    assert [check for check, _, _ in claude(SAYS_IN)] == ["login", "secrets"]


@pytest.mark.parametrize("text", ["{", "3", '"x"', "\x00", "[" * 100_000])
def test_broken_settings_are_told(claude, text):
    """Claude passes over them without a word."""
    checks = [check for check, _, _ in claude(SAYS_IN, settings=text)]
    assert checks == ["settings", "login"]


@pytest.fixture
def codex(tmp_path):
    folder = tmp_path / "codex"
    folder.mkdir()

    def look(script, *, auth=None, config=None, **env):
        if auth is not None:
            (folder / "auth.json").write_text(auth)
            (folder / "auth.json").chmod(0o600)
        if config is not None:
            (folder / "config.toml").write_text(config)
        path = a_program(tmp_path / "bin/codex", script)
        base = {"PATH": os.environ["PATH"], "CODEX_HOME": str(folder)}
        return [
            (f.check, f.severity, f.what) for f in check_logins.codex_login(str(path), base | env)
        ]

    look.folder = folder
    return look


OUT = "echo Not logged in >&2; exit 1"
IN = "echo WARNING: something >&2; echo Logged in using ChatGPT >&2"
TOKENS = '{"tokens": {"access_token": "a"}}'
PROVIDER = 'model_provider = "x"\n[model_providers.x]\nenv_key = "{}"\n'


def test_codex_is_asked_itself(codex):
    """It says it on stderr, after warnings."""
    ((_, severity, what),) = codex(IN)
    assert (severity, what) == ("ok", "codex: Logged in using ChatGPT (it says)")
    ((_, severity, what),) = codex("echo 'API key configured - sk-abcde***hijkl'")
    assert (severity, what) == ("ok", "codex: API key configured (it says)")
    ((_, severity, what),) = codex(OUT)
    assert (severity, what) == ("warning", "codex: not logged in (it says).")


def test_a_key_that_codex_does_not_read_is_told(codex):
    """The one that everybody has."""
    ((_, _, what),) = codex(OUT, OPENAI_API_KEY="x")
    assert "OPENAI_API_KEY is set, but codex does not read it" in what


@pytest.mark.parametrize("script", ["echo garbage", "exit 2", "cat /dev/zero"])
def test_a_codex_that_does_not_answer_is_judged_by_its_files(codex, script):
    """Whatever it prints."""
    assert codex(script)[0][1] == "warning"
    assert codex(script, auth='{"OPENAI_API_KEY": "x"}')[0][1] == "ok"


def test_a_key_of_codex_beside_a_subscription_is_told(codex):
    """It comes first."""
    found = codex(IN, auth=TOKENS, CODEX_API_KEY="x")
    assert [check for check, _, _ in found] == ["billing", "login"]
    assert [check for check, _, _ in codex(IN, CODEX_API_KEY="")] == ["login"]


def test_a_provider_whose_key_agents_do_not_get_is_told(codex):
    """Fleet passes what the coder names, and no other variable."""
    ((_, severity, what),) = codex(OUT, config=PROVIDER.format("MY_KEY"))
    assert severity == "warning"
    assert "logs in by MY_KEY, which agents do not get" in what
    ((_, severity, _),) = codex(OUT, config=PROVIDER.format("CODEX_API_KEY"), CODEX_API_KEY="x")
    assert severity == "ok"


@pytest.mark.parametrize(
    ("auth", "config"), [("{", None), ("3", None), (None, "= 3"), (None, "\x00")]
)
def test_broken_files_of_codex_are_told(codex, auth, config):
    """It does not start with them."""
    ((_, severity, what),) = codex(IN, auth=auth, config=config)
    assert (severity, "codex: " in what) == ("warning", True)


def test_the_default_coder_must_be_logged_in_and_others_need_not(installation, tmp_path):
    """One line for each CLI that is there, and one for its login."""
    a_program(tmp_path / "bin/claude", SAYS_OUT)
    a_program(tmp_path / "bin/codex", f'[ "$1" = --version ] && echo 1.0 && exit; {OUT}')
    a_program(tmp_path / "bin/agy", "echo 3")
    installation = with_env(installation, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    os.environ["PATH"], before = installation.env["PATH"], os.environ["PATH"]
    try:
        found = list(check_coders.coders(installation))
        other = list(check_coders.coders(with_settings(installation, 'coder = "codex"')))
        nobody = list(check_coders.coders(with_settings(installation, 'coder = "nobody"')))
    finally:
        os.environ["PATH"] = before
    by_name = {f.what.split(":")[0]: f.severity for f in found if f.check == "login"}
    assert by_name == {"claude": "warning", "agy": "ok", "codex": "ok"}
    by_name = {f.what.split(":")[0]: f.severity for f in other if f.check == "login"}
    assert by_name == {"claude": "ok", "agy": "ok", "codex": "warning"}
    assert [f.severity for f in nobody if "nobody" in f.what] == ["error"]


def test_no_coder_at_all_is_an_error_with_a_way_out(installation, tmp_path, monkeypatch):
    """Nothing can be worked on; where another CLI is there, its name is the way out."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (none,) = check_coders.coders(installation)
    assert none.severity == "error"
    assert "no other coder can run here" in none.what
    assert "Install claude" in none.fix
    a_program(tmp_path / "bin/agy", "echo 3")
    found = [each for each in check_coders.coders(installation) if each.check == "coder"]
    (missing,) = [each for each in found if each.severity != "ok"]
    assert missing.severity == "warning"
    assert missing.fix == "Install claude, or: fleet config set coder=agy"


def test_somebody_without_a_home_is_told_of_the_coders(installation, tmp_path, monkeypatch):
    """The doctor is what one runs first; a broken home is told of by itself."""
    a_program(tmp_path / "bin/claude", SAYS_IN)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    nobody = with_env(installation, PATH=os.environ["PATH"])
    broken = msgspec.structs.replace(nobody, config=None)
    assert list(check_coders.coders(broken)) == []
    installation.home.config.unlink()
    told = [finding.what for finding in check_coders.coders(broken)]
    assert "claude: logged in, max (it says)" in told


def test_the_environment_of_a_login_is_the_agents(installation):
    """What the supervisor does not pass on cannot log an agent in."""
    installation = with_env(installation, ANTHROPIC_API_KEY="a", SECRET="b", CODEX_API_KEY="c")
    found = check_coders.environment(installation, "claude")
    assert found["ANTHROPIC_API_KEY"] == "a"
    assert not {"SECRET", "CODEX_API_KEY"} & set(found)
    account = check_coders.environment(installation, "claude", {"CLAUDE_CONFIG_DIR": "/else"})
    assert "ANTHROPIC_API_KEY" not in account


@pytest.fixture
def with_accounts(installation, tmp_path, monkeypatch):
    """A home with two accounts, and a claude that says of each directory whether it is known."""
    script = f'[ -e "$CLAUDE_CONFIG_DIR/in" ] && {SAYS_IN} || {SAYS_OUT}'
    a_program(tmp_path / "bin/claude", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in ("first", "second"):
        (tmp_path / name).mkdir(mode=0o700)

    def look(extra="", **env):
        tables = "".join(
            f'[accounts.{name}]\ncoder = "claude"\ndirectory = "{tmp_path / name}"\n{extra}\n'
            for name in ("first", "second")
        )
        found = with_env(with_settings(installation, tables), PATH=os.environ["PATH"], **env)
        told = list(check_coders.coders(found))
        return [(f.severity, f.what, f.fix) for f in told if f.check in ("account", "login")]

    return look


def test_each_account_is_looked_at_with_its_own_login(with_accounts, tmp_path):
    """And the user's own, which no run uses, is not."""
    (tmp_path / "first/in").touch()
    first, second = with_accounts()
    assert first[:2] == ("ok", "account first: claude: logged in, max (it says)")
    assert second[:2] == ("warning", "account second: claude: not logged in (it says)")
    assert second[2] == "Log in: fleet account login second"


def test_an_account_in_trouble_is_told_and_a_paused_one_is_no_warning(with_accounts, tmp_path):
    """Its directory is gone, or its secret is."""
    (tmp_path / "first").rmdir()
    first, _ = with_accounts()
    assert first[0] == "warning"
    assert "account first: its directory" in first[1]
    first, second = with_accounts("enabled = false")
    assert (first[0], second[0]) == ("ok", "ok")
    _, second = with_accounts('secret = "env:GONE"')
    assert "its secret is gone" in second[1]


def test_a_key_in_an_accounts_settings_is_told(with_accounts, tmp_path):
    """It would bill in the place of the subscription, and each run would be ended for it."""
    (tmp_path / "first/.credentials.json").write_text(json.dumps(CREDENTIALS))
    (tmp_path / "first/.credentials.json").chmod(0o600)
    (tmp_path / "first/settings.json").write_text('{"env": {"ANTHROPIC_API_KEY": "x"}}')
    told = [what for _, what, _ in with_accounts()]
    assert any("account first" in what and "instead of its login" in what for what in told)
