"""The login that a box gets: usable, and without what could be spent or lost."""

import json

import pytest

from fleet.accounts.box_login import put
from fleet.coders.agy import AgyCoder
from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder

CLAUDE = {
    "claudeAiOauth": {"accessToken": "at-1", "refreshToken": "canary-rt", "expiresAt": 1},
    "mcpOAuth": {"server": {"refreshToken": "canary-mcp"}},
}
CODEX = {"OPENAI_API_KEY": None, "tokens": {"access_token": "at-1", "refresh_token": "canary-rt"}}
KEY = {"OPENAI_API_KEY": "sk-1", "tokens": None}


@pytest.fixture
def places(tmp_path):
    own, state = tmp_path / "own", tmp_path / "state"
    own.mkdir()
    state.mkdir()
    return own, state


@pytest.mark.parametrize(("coder", "login"), [(ClaudeCoder, CLAUDE), (CodexCoder, CODEX)])
def test_a_box_gets_the_access_token_without_the_refresh_token(places, coder, login):
    """A refresh token is spent once: a box that fails to store the next one ends the login."""
    own, state = places
    (own / coder.login_file).write_text(json.dumps(login))
    assert put(coder, own, state, {}) == {}
    written = state / coder.login_file
    assert "at-1" in written.read_text()
    assert "canary" not in written.read_text()
    assert written.stat().st_mode & 0o777 == 0o600
    assert json.loads((own / coder.login_file).read_text()) == login


def test_an_api_key_enters_as_it_is(places):
    """A key is not spent by its use."""
    own, state = places
    (own / "auth.json").write_text(json.dumps(KEY))
    put(CodexCoder, own, state, {})
    assert json.loads((state / "auth.json").read_text()) == KEY


@pytest.mark.parametrize("content", [None, "", "[]", "no JSON", '{"claudeAiOauth": 1}'])
def test_a_file_that_holds_no_login_is_not_copied(places, content):
    """Fleet cannot tell a secret from the rest in a form that it does not know."""
    own, state = places
    if content is not None:
        (own / ".credentials.json").write_text(content)
    put(ClaudeCoder, own, state, {})
    put(AgyCoder, own, state, {})
    assert list(state.iterdir()) == []
