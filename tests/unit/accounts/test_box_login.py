"""The login that a box gets: usable, and without what could be spent or lost."""

import json

import pytest

from fleet.accounts.box_login import put, read
from fleet.coders.agy import AgyCoder
from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder

CLAUDE = {
    "claudeAiOauth": {"accessToken": "at-1", "refreshToken": "canary-rt", "expiresAt": 1},
    "mcpOAuth": {"server": {"refreshToken": "canary-mcp"}},
}
CODEX = {"OPENAI_API_KEY": None, "tokens": {"access_token": "at-1", "refresh_token": "canary-rt"}}
KEY = {"OPENAI_API_KEY": "sk-1", "tokens": None}
BOTH = pytest.mark.parametrize(("coder", "login"), [(ClaudeCoder, CLAUDE), (CodexCoder, CODEX)])


@pytest.fixture
def places(tmp_path):
    own, state = tmp_path / "own", tmp_path / "state"
    own.mkdir()
    state.mkdir()
    return own, state


def copied(coder, login, own, state):
    (own / coder.login_file).write_text(json.dumps(login))
    put(coder, read(coder, own, {}), state)
    return state / coder.login_file


@BOTH
def test_a_box_gets_the_access_token_without_the_refresh_token(places, coder, login):
    """A refresh token is spent once: a box that fails to store the next one ends the login."""
    own, state = places
    written = copied(coder, login, own, state)
    assert "at-1" in written.read_text()
    assert "canary" not in written.read_text()
    assert written.stat().st_mode & 0o777 == 0o600
    assert json.loads((own / coder.login_file).read_text()) == login


def test_an_api_key_enters_as_it_is(places):
    """A key is not spent by its use."""
    assert json.loads(copied(CodexCoder, KEY, *places).read_text()) == KEY


@pytest.mark.parametrize(
    "content",
    [None, "", "[]", "no JSON", '{"claudeAiOauth": 1}', '{"claudeAiOauth": {"accessToken": ""}}'],
)
def test_a_file_that_holds_no_login_is_none(places, content):
    """Fleet cannot tell a secret from the rest in a form that it does not know; and a CLI that
    failed to renew its login may have emptied it.
    """
    own, _ = places
    if content is not None:
        (own / ".credentials.json").write_text(content)
    assert read(ClaudeCoder, own, {}) is None
    assert read(AgyCoder, own, {}) is None


@pytest.mark.parametrize("content", [b" " * (64 << 10), b"\xff{"])
def test_a_file_that_is_too_long_or_no_text_is_none(places, content):
    """What is read is bounded, whatever stands there."""
    own, _ = places
    (own / "auth.json").write_bytes(json.dumps(KEY).encode() + content)
    assert read(CodexCoder, own, {}) is None


@BOTH
def test_a_link_that_an_agent_put_there_is_replaced_and_not_followed(
    places, tmp_path, coder, login
):
    """The agent is at work in the directory when a newer login is put into it."""
    own, state = places
    theirs = tmp_path / "bashrc"
    theirs.write_text("untouched")
    (state / coder.login_file).symlink_to(theirs)
    written = copied(coder, login, own, state)
    assert not written.is_symlink()
    assert "at-1" in written.read_text()
    assert theirs.read_text() == "untouched"


def test_the_directory_of_a_run_that_is_over_is_not_made_again(places):
    """A login would stay there."""
    own, state = places
    state.rmdir()
    with pytest.raises(FileNotFoundError):
        copied(ClaudeCoder, CLAUDE, own, state)
    assert not state.exists()


def test_no_token_shows_where_a_login_is_printed(places):
    """A traceback or a log line of a login tells nothing of its tokens."""
    own, _ = places
    (own / ".credentials.json").write_text(json.dumps(CLAUDE))
    login = read(ClaudeCoder, own, {})
    assert "at-1" not in f"{login!r} {login}"


def test_claude_keeps_the_account_of_a_login_in_another_file(places):
    """The login file names none, so a login of another account would look like a newer one."""
    own, _ = places
    (own / ".credentials.json").write_text(json.dumps(CLAUDE))
    (own / ".claude.json").write_text(json.dumps({"oauthAccount": {"accountUuid": "a-1"}}))
    assert read(ClaudeCoder, own, {"CLAUDE_CONFIG_DIR": str(own)}).owner == "a-1"
