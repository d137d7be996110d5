"""TOML coders: the four that come with the documentation, against recordings of their CLIs."""

from pathlib import Path

import pytest

from fleet.coders import toml
from fleet.coders.base import Options
from fleet.errors import BadInput
from fleet.schemas import Failed, Finished, RateLimited, Usage
from tests.builders import a_task
from tests.streams import recorded, replay

EXAMPLES = Path(__file__).parents[2] / "docs" / "coders"
TASK_DIR = Path("/h/tasks/fleet-abc")
HELLO = "The tool said hello. Finished."


def example(name, model=None, **options):
    coder = toml.load(EXAMPLES / f"{name}.toml")(model)
    coder.options = Options(**options)
    return coder


#: exit code, signal, outcome (a Finished text, or a reason), tool calls
CASES = {
    "gemini/text": (0, None, "Done. All good.", 0),
    "gemini/tool": (0, None, HELLO, 1),
    "gemini/iso_gemini_cli_home": (0, None, "Done. All good.", 0),
    "gemini/429": (None, 9, "!killed", 0),
    "gemini/429_long": (173, None, "!rate_limit", 0),
    "gemini/sigterm_tool": (0, None, "!aborted", 1),
    "gemini/500_long": (244, None, "~outage", 0),
    "gemini/sigint_group": (0, None, "!no_ending", 1),
    "gemini/sigterm_group": (0, None, "!no_ending", 1),
    "opencode/text": (0, None, "Done. All good.", 0),
    "opencode/tool": (0, None, HELLO, 1),
    "opencode/tool_noauto": (0, None, "!denied", 1),
    "opencode/429": (1, None, "!rate_limit", 0),
    "opencode/500_long": (1, None, "~outage", 0),
    "opencode/sigterm_tool": (None, 15, "!killed", 0),
    "qwen/text": (0, None, "Done. All good.", 0),
    "qwen/tool": (0, None, HELLO, 1),
    "qwen/500_long": (0, None, "~outage", 0),
    "qwen/429_long": (None, 9, "!killed", 0),
    "copilot/text": (0, None, "Done. All good.", 0),
    "copilot/tool": (0, None, HELLO, 1),
    "copilot/500": (1, None, "~outage", 0),
    "copilot/sigterm_tool": (None, 15, "!killed", 1),
}


@pytest.mark.parametrize("case", CASES)
def test_a_recorded_run_ends_as_it_did(case):
    """A file of rules tells success, failure and limits of a CLI apart."""
    exit_code, signal, expected, calls = CASES[case]
    cli, name = case.split("/")
    reading = replay(example(cli), cli, name)
    outcome = example(cli).outcome(reading, exit_code, signal)
    match outcome:
        case Finished(text=text):
            assert text == expected
        case RateLimited(limit=limit):
            assert expected == ("~outage" if limit.kind == "outage" else "!rate_limit")
        case Failed(reason=reason):
            assert expected == f"!{reason}"
    assert (reading.tools.count, reading.kinds["bad"]) == (calls, 0)


@pytest.mark.parametrize("cli", ["gemini", "opencode", "qwen", "copilot"])
def test_no_recorded_line_of_an_example_is_unreadable(cli):
    """Each recording is read from its first to its last line."""
    for name in recorded(cli):
        assert replay(example(cli), cli, name).kinds["bad"] == 0


def test_tokens_and_context_come_from_the_paths_that_the_file_names():
    """Two CLIs count in two ways, and both come out in fleet's words."""
    gemini = replay(example("gemini"), "gemini", "tool")
    assert gemini.tokens.usage == Usage(input=2400, cache_read=10_000, output=84)
    opencode = replay(example("opencode"), "opencode", "tool")
    assert opencode.tokens.usage == Usage(input=2400, cache_read=10_000, output=84)
    assert opencode.tokens.context_tokens == 6200
    assert opencode.session_id.startswith("ses_")


def test_the_command_is_filled_in():
    """A group without its value is left out; braces in a prompt stay what they are."""
    task = a_task(title="Use {model} {here}")
    argv = example("gemini", "gemini-3-pro", permissions="bypass").build_argv(task, TASK_DIR)
    assert argv[:8] == [
        "gemini", "--output-format", "stream-json", "--skip-trust",
        "--approval-mode", "yolo", "--model", "gemini-3-pro",
    ]  # fmt: skip
    assert argv[8] == "--prompt"
    assert argv[9].startswith("# Task fleet-abc: Use {model} {here}")
    assert len(argv) == 10

    resumed = example("gemini", resume="r").build_argv(task, TASK_DIR)
    assert resumed[resumed.index("--resume") + 1] == "r"
    assert "--model" not in resumed


def test_what_the_file_says_is_what_the_supervisor_asks():
    """The optional members follow from the file."""
    coder = example("gemini")
    assert coder.name == "gemini"
    assert coder.program == "gemini"
    assert coder.prints_ending
    assert coder.can_resume
    assert coder.credentials == ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_CLI_HOME")
    assert coder.env(a_task(), TASK_DIR)["GEMINI_CLI_NO_RELAUNCH"] == "true"
    assert coder.env(a_task(), TASK_DIR)["FLEET_TASK_ID"] == "fleet-abc"


@pytest.mark.parametrize("way", ["stdin", "file"])
def test_a_prompt_may_come_on_stdin_or_in_a_file(tmp_path, way):
    """Both keep it out of the argument list."""
    path = tmp_path / "x.toml"
    path.write_text(f'argv = ["x", "{{prompt_file}}"]\nprompt = "{way}"', encoding="utf-8")
    coder = toml.load(path)()
    assert coder.build_argv(a_task(), TASK_DIR) == ["x", "/h/tasks/fleet-abc/prompt.md"]
    assert coder.prompt_on_stdin is (way == "stdin")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("argv = []", "begin with a program"),
        ('argv = ["x", "{promt}"]', "no such place: promt"),
        ('argv = ["x"]', "no {prompt}"),
        ('argv = ["x"]\nprompt = "file"', "no {prompt_file}"),
        ('argv = ["x", "{prompt}"]\ntypo = 1', "typo"),
        ('argv = ["x", "{prompt}"]\n[[event]]\nwhen = {}\nkind = "nonsense"', "nonsense"),
        ('argv = ["x", "{prompt}"]\n[exits]\n3 = "bad luck"', "bad luck"),
        ('argv = ["x", "{prompt}"]\n[exits]\nthree = "auth"', "numbers"),
        ("argv = [", "gem.toml"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(tmp_path, text, told):
    """Nothing that is misspelt is silently ignored."""
    path = tmp_path / "gem.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        toml.load(path)
    assert told in caught.value.message
