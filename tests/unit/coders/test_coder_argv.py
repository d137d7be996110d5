"""The command and the variables with which each coder starts its CLI."""

import os
from pathlib import Path

import pytest

from fleet.coders import make
from fleet.coders.base import Options
from tests.builders import a_task

TASK_DIR = Path("/h/tasks/fleet-abc")
TASK = a_task(cwd="/my/project")


def argv(name, model=None, *, inherited=False, **options):
    return make(name, model, Options(**options), inherited=inherited).build_argv(TASK, TASK_DIR)


def after(words, flag):
    return words[words.index(flag) + 1]


def test_claude_streams_json_and_takes_its_prompt_from_stdin():
    """No argument holds the prompt: arguments are public, and have a limit."""
    words = argv("claude", "opus")
    assert words[:-1] == [
        "claude", "-p", "--output-format", "stream-json", "--verbose",
        "--model", "opus",
        "--permission-mode", "acceptEdits", "--add-dir", "/h/tasks/fleet-abc/artifacts",
        "--allowedTools",
    ]  # fmt: skip
    assert words[-1].startswith("Bash(bd:*),Bash(fleet:*),Bash(git add:*),")
    assert make("claude").prompt_on_stdin


def test_claude_may_run_git_and_the_verify_commands_unasked():
    """With `edit` alone an agent could neither run the tests nor commit."""
    lines = ("make check && pytest -q", "cd web; npm test", "sh -c 'echo $(date)'", "a,b")
    allowed = argv("claude", verify=lines)[-1].split(",")
    assert "Bash(git commit:*)" in allowed
    wanted = ("make check", "pytest -q", "cd web", "npm test")
    assert [f"Bash({command}:*)" for command in wanted] == allowed[-4:]
    assert not any("push" in rule or "date" in rule for rule in allowed)
    bypass = argv("claude", verify=lines, permissions="bypass")[-1]
    assert bypass == "Bash(bd:*),Bash(fleet:*)"


def test_claude_carries_a_session_on():
    """A resumed run names the session that it goes on with; a new run names none."""
    assert after(argv("claude", resume="5678"), "--resume") == "5678"
    assert "--resume" not in argv("claude")


@pytest.mark.parametrize(
    ("permissions", "mode"),
    [("edit", "acceptEdits"), ("auto", "auto"), ("bypass", "bypassPermissions")],
)
def test_claude_has_a_mode_for_each_permission(permissions, mode):
    """The way to say that the work is done is open in all of them."""
    words = argv("claude", permissions=permissions)
    assert after(words, "--permission-mode") == mode
    assert "Bash(bd:*)" in words[-1]


def test_claude_has_flags_for_each_context():
    """The project's rules stay in all; what a task needs is loaded whatever the context."""
    own, lean = ["--setting-sources", "project,local"], "Bash,Read,Edit,Write"
    assert not {"--setting-sources", "--tools"} & set(argv("claude"))
    assert own == [word for word in argv("claude", context="project") if word in own]
    words = argv("claude", context="lean")
    assert {*own, "--strict-mcp-config", "--disable-slash-commands"} <= set(words)
    assert after(words, "--tools") == lean
    words = argv("claude", context="lean", needs=("tool:WebFetch", "tool:Bash", "tool:Skill"))
    assert after(words, "--tools") == f"{lean},WebFetch,Skill"
    assert "--disable-slash-commands" not in words
    words = argv("claude", context="lean", needs=("mcp:lookup",))
    assert not {"--strict-mcp-config", "--setting-sources"} & set(words)


def test_claude_keeps_no_notes_of_its_own_in_a_lean_run():
    """Its instructions for them are half of its system prompt."""
    quiet = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
    assert quiet in make("claude", options=Options(context="lean")).env(TASK, TASK_DIR)
    assert quiet not in make("claude", options=Options(context="project")).env(TASK, TASK_DIR)


@pytest.mark.parametrize(
    ("uid", "permissions", "said"),
    [(0, "bypass", True), (0, "edit", False), (1000, "bypass", False)],
)
def test_claude_calls_it_a_sandbox_only_to_bypass_as_root(monkeypatch, uid, permissions, said):
    """The word switches a safety off, so it is said only where nothing works without it."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    env = make("claude", options=Options(permissions=permissions)).env(TASK, TASK_DIR)
    assert ("IS_SANDBOX" in env) is said
    assert env["DISABLE_AUTOUPDATER"] == "1"


def test_claude_knows_the_long_context_by_the_models_name():
    """Context pressure is a share of what the model holds."""
    assert make("claude", "sonnet").context_limit == 200_000
    assert make("claude", "sonnet[1m]").context_limit == 1_000_000


def test_codex_writes_its_artifacts_and_requests_beside_the_project():
    """Without that directory it could neither write its notes nor close its task."""
    spool = "/h/tasks/fleet-abc/runs/1/spool"
    assert argv("codex", "gpt-5", spool=spool) == [
        "codex", "exec", "--json", "--skip-git-repo-check", "--disable", "plugins",
        "-c", "allow_login_shell=false", "--cd", "/my/project", "--model", "gpt-5",
        "--sandbox", "workspace-write", "--add-dir", "/h/tasks/fleet-abc/artifacts",
        "--add-dir", "/h/tasks/fleet-abc/runs/1/spool", "-",
    ]  # fmt: skip


def test_codex_resumes_with_the_same_options():
    """Options stand before `resume`, which knows only some of them."""
    words = argv("codex", resume="5678")
    assert words[-3:] == ["resume", "5678", "-"]
    assert words.index("--sandbox") < words.index("resume")


def test_codex_bypasses_only_when_told_to():
    """The dangerous flag stands for one permission and no other."""
    flag = "--dangerously-bypass-approvals-and-sandbox"
    assert flag in argv("codex", permissions="bypass")
    assert flag not in argv("codex", permissions="auto")
    assert "--approve-for-me" in argv("codex", permissions="auto")


def test_agy_gets_flag_and_prompt_as_one_word():
    """Its flag takes the next word for the prompt, whatever that is."""
    words = argv("agy", "Gemini 3 Pro", permissions="bypass")
    assert words[:-1] == [
        "agy", "--output-format", "stream-json", "--print-timeout", "24h",
        "--model", "Gemini 3 Pro", "--dangerously-skip-permissions",
        "--add-dir", "/h/tasks/fleet-abc/artifacts",
    ]  # fmt: skip
    assert words[-1].startswith("-p=# Task fleet-abc: Add a parser")


def test_agy_edits_without_the_dangerous_flag():
    """Only `bypass` is dangerous."""
    for permissions in ("edit", "auto"):
        words = argv("agy", permissions=permissions)
        assert after(words, "--mode") == "accept-edits"
        assert "--dangerously-skip-permissions" not in words


@pytest.mark.parametrize(
    ("name", "model", "used"),
    [
        ("claude", "sonnet", "sonnet"),
        ("claude", "my-gateway-model", "my-gateway-model"),
        ("claude", "gpt-5", "sonnet"),
        ("codex", "sonnet", "o4-mini"),
        ("codex", "claude-opus-4-5", "o4-mini"),
        ("codex", "gpt-5.1-codex", "gpt-5.1-codex"),
        ("agy", "sonnet", ""),
        ("agy", "Gemini 3 Pro", "Gemini 3 Pro"),
    ],
)
def test_an_inherited_model_of_another_coder_is_not_passed_on(name, model, used):
    """One configured model serves all coders; what is not theirs falls back to their own."""
    assert make(name, model, inherited=True).model == used
    words = argv(name, model, inherited=True)
    assert (after(words, "--model") if used else "--model" not in words) == (used or True)


@pytest.mark.parametrize("name", ["claude", "codex", "agy"])
def test_an_explicit_model_passes_as_it_is(name):
    """Who names a model for one task means it."""
    assert after(argv(name, "opus"), "--model") == "opus"


@pytest.mark.parametrize("name", ["claude", "codex", "agy"])
def test_every_coder_tells_the_agent_where_it_is(name):
    """The three variables are required of each coder."""
    env = make(name).env(TASK, TASK_DIR)
    assert env["FLEET_TASK_ID"] == "fleet-abc"
    assert env["FLEET_TASK_DIR"] == "/h/tasks/fleet-abc"
    assert env["FLEET_ARTIFACT_DIR"] == "/h/tasks/fleet-abc/artifacts"
