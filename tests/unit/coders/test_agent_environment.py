"""What an agent may see of the world of the supervisor."""

from pathlib import Path

import pytest

from fleet.coders import make, names
from fleet.coders.agent_environment import agent_env, run_env, secret_values
from tests.builders import a_task

TASK_DIR = Path("/h/tasks/fleet-abc")
SECRETS = {
    "ANTHROPIC_API_KEY": "a",
    "CLAUDE_CODE_OAUTH_TOKEN": "b",
    "CODEX_API_KEY": "c",
    "OPENAI_API_KEY": "d",
    "GEMINI_API_KEY": "e",
    "GITHUB_TOKEN": "f",
    "AWS_SECRET_ACCESS_KEY": "g",
    "TELEGRAM_BOT_TOKEN": "h",
    "DATABASE_URL": "i",
}
PARENT = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "XDG_CACHE_HOME": "/cache",
    **SECRETS,
}


def env(coder="claude", parent=PARENT, login=None):
    return agent_env(parent, make(coder), a_task(), TASK_DIR, login)


@pytest.mark.parametrize(
    ("coder", "own"),
    [
        ("claude", {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}),
        ("codex", {"CODEX_API_KEY", "OPENAI_API_KEY"}),
        ("agy", set()),
    ],
)
def test_a_coder_gets_its_own_login_and_no_other_secret(coder, own):
    """A key of another coder, or of another service, is not the agent's business."""
    assert set(env(coder)) & set(SECRETS) == own


def test_no_two_coders_share_a_credential():
    """Then no login can pass by way of another coder."""
    named = [name for coder in names() for name in make(coder).credentials]
    assert len(named) == len(set(named))


def test_an_account_replaces_the_parents_login():
    """Of two logins a CLI may take the one that the user did not choose, and bill it."""
    account = {"CLAUDE_CONFIG_DIR": "/accounts/2"}
    seen = env(login=account)
    assert seen["CLAUDE_CONFIG_DIR"] == "/accounts/2"
    assert not set(seen) & {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}


def test_what_every_program_needs_passes():
    """Programs, home, language and caches are found as the person finds them."""
    assert env().items() >= {
        "PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": "/cache",
    }.items()  # fmt: skip


def test_nothing_waits_for_an_answer():
    """Editors, pagers and password prompts end at once."""
    seen = env(parent={**PARENT, "EDITOR": "vim", "PAGER": "less"})
    assert (seen["EDITOR"], seen["PAGER"], seen["GIT_TERMINAL_PROMPT"]) == ("true", "cat", "0")
    assert seen["TERM"] == "dumb"
    assert "CI" not in seen


def test_the_task_is_always_this_one():
    """A supervisor that was itself started by an agent does not hand its own task on."""
    seen = env(parent={**PARENT, "FLEET_TASK_ID": "fleet-old"}, login={"FLEET_TASK_DIR": "/x"})
    assert seen["FLEET_TASK_ID"] == "fleet-abc"
    assert seen["FLEET_TASK_DIR"] == str(TASK_DIR)


def test_a_session_of_claude_around_fleet_does_not_show():
    """Claude refuses to start inside itself, and would write into that session."""
    parent = {**PARENT, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s"}
    assert not set(env(parent=parent)) & {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID"}


REACHING_OUT = {
    "SSH_AUTH_SOCK": "/tmp/ssh-agent",
    "GIT_SSH_COMMAND": "ssh -i ~/.ssh/deploy",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway-Key: 0123456789",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "MY_GATEWAY_KEY": "gateway-0123456789",
}


def test_what_reaches_out_passes_only_by_name():
    """An ssh agent signs with every key of its user, and headers hold keys."""
    parent = {**PARENT, **REACHING_OUT}
    assert not set(env(parent=parent)) & set(REACHING_OUT)
    named = agent_env(parent, make("claude"), a_task(), TASK_DIR, None, ("SSH_AUTH_SOCK",))
    assert set(named) & set(REACHING_OUT) == {"SSH_AUTH_SOCK"}


def test_the_secrets_of_an_agent_are_its_login_its_keys_and_proxy_passwords():
    """These values are masked in what is kept; a path or a language is none."""
    parent = {
        **PARENT, **REACHING_OUT, "HTTPS_PROXY": "http://me:pr0xyp4ss@proxy:3128",
        "NO_PROXY": "localhost", "http_proxy": "http://[broken",
    }  # fmt: skip
    passes = ("MY_GATEWAY_KEY", "SSH_AUTH_SOCK", "ANTHROPIC_CUSTOM_HEADERS")
    seen = agent_env(parent, make("claude"), a_task(), TASK_DIR, None, passes)
    found = set(secret_values(make("claude"), seen))
    headers = "X-Gateway-Key: 0123456789"
    assert found == {"a", "b", "gateway-0123456789", "pr0xyp4ss", headers}


def test_a_key_of_the_supervisors_own_reaches_no_account(home):
    """Not even one whose secret goes by a name that its coder has not heard of."""
    own = {"ANTHROPIC_API_KEY": "mine", "HOME": "/"}
    given = {"GATEWAY_TOKEN": "theirs"}
    env = run_env(own, home, make("claude"), a_task(), given)
    assert env["GATEWAY_TOKEN"] == "theirs"
    assert "ANTHROPIC_API_KEY" not in env
    assert run_env(own, home, make("claude"), a_task(), {})["ANTHROPIC_API_KEY"]
