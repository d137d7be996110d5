"""What `fleet coders` finds out about each coder."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleet.coders import trusted_files
from fleet.config import Config
from fleet.control import Control
from fleet.control.list_coders import coders_here
from fleet.processes import process_identity
from fleet.processes.cli_versions import asked
from tests.builders import a_program, trust_coders


@pytest.fixture
def fleet(home, tmp_path, monkeypatch):
    (home.path / "coders").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return Control(home, Config(coder="mine"))


def coder_file(fleet, name, text):
    (fleet.home.path / "coders" / name).write_text(text)
    trust_coders(fleet.home.path)


def test_a_coder_is_told_with_its_program_and_version(fleet, tmp_path):
    """The program is what its argv begins with, where it names none."""
    path = a_program(tmp_path / "bin/mycli", "echo 'mycli 1.2.3'; echo more")
    coder_file(fleet, "mine.toml", 'argv = ["mycli", "{prompt}"]\nversion_args = ["-v"]\n')
    found = {coder.name: coder for coder in coders_here(fleet)}
    mine = found["mine"]
    assert (mine.program, mine.path, mine.version) == ("mycli", path, "mycli 1.2.3")
    assert mine.origin == str(fleet.home.path / "coders" / "mine.toml")
    assert (mine.problem, mine.remark, mine.default) == ("", "", True)
    assert (found["claude"].origin, found["claude"].default) == ("built in", False)


def test_a_program_that_is_missing_is_a_problem_of_its_coder_alone(fleet):
    """The others are told all the same."""
    coder_file(fleet, "mine.toml", 'argv = ["no-such-program", "{prompt}"]\n')
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert mine.problem == "no-such-program is not on PATH"


def test_a_coder_that_cannot_make_a_command_line_says_why(fleet):
    """Installing a program of the coder's name would not help."""
    text = "from fleet.coders.base import Coder\nclass Mine(Coder):\n"
    text += "    name, context_limit = 'mine', 1000\n    def normalize_event(self, line): ...\n"
    text += "    def build_argv(self, task, task_dir): return [open('/nope').read()]\n"
    coder_file(fleet, "mine.py", text)
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert mine.problem.startswith("its build_argv fails: FileNotFoundError")
    assert mine.program == ""


def test_a_broken_coder_file_is_shown_with_its_error(fleet):
    """The author of the file sees what is wrong, and no other coder is lost."""
    coder_file(fleet, "broken.py", "def")
    coder_file(fleet, "claude.toml", 'argv = ["x", "{prompt}"]\n')
    found = coders_here(fleet)
    broken = next(coder for coder in found if coder.name == "broken")
    assert "SyntaxError" in broken.problem
    assert [coder.origin for coder in found if coder.name == "claude"] == ["built in", "hidden"]


def test_a_program_that_tells_no_version_can_still_run(fleet, tmp_path):
    """It may just not know the flag."""
    a_program(tmp_path / "bin/mycli", "echo 'unknown flag' >&2; exit 2")
    coder_file(fleet, "mine.toml", 'argv = ["mycli", "{prompt}"]\nversion_args = ["-v"]\n')
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert mine.problem == ""
    assert mine.remark == "ended with 2 when asked for its version: unknown flag"


PYTHON = """
from fleet.coders.base import Coder

class Mine(Coder):
    name = "mine"
    context_limit = 1
    {more}
    def build_argv(self, task, task_dir):
        return ["mycli", "--prompt", "x"]
    def normalize_event(self, raw_line):
        return None
"""
DECLARED = 'version_args = ("tell", "--version")'


@pytest.mark.parametrize("kind", ["py", "toml"])
def test_a_program_is_started_only_with_the_arguments_that_its_coder_declares(
    fleet, tmp_path, monkeypatch, kind
):
    """A script that ignores its arguments would do its whole work, in the user's directory."""
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    a_program(tmp_path / "bin/mycli", f"echo $* >> {tmp_path}/argv; touch made; pwd; ls -A")
    toml = 'argv = ["mycli", "{prompt}"]\n'
    without = PYTHON.format(more="") if kind == "py" else toml
    coder_file(fleet, f"mine.{kind}", without)
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert not (tmp_path / "argv").exists()
    assert (mine.version, mine.problem) == ("", "")
    assert mine.words == "version unknown: the coder declares no version_args"
    declared = f'{toml}version_args = ["tell", "--version"]\n'
    coder_file(fleet, f"mine.{kind}", PYTHON.format(more=DECLARED) if kind == "py" else declared)
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert (tmp_path / "argv").read_text() == "tell --version\n"
    assert mine.version not in ("", str(place), str(fleet.home.path)), "the directory it ran in"
    assert not Path(mine.version).exists(), "which is gone"
    assert list(place.iterdir()) == []


def test_programs_that_hang_cost_one_patience_and_leave_nothing(tmp_path):
    """They are asked side by side, and killed with their children."""
    (tmp_path / "bin").mkdir()
    names = ("a", "b", "c")
    paths = {
        name: str(
            a_program(tmp_path / "bin" / name, f"sleep 60 & echo $! > {tmp_path}/{name}; wait")
        )
        for name in names
    }
    began = time.monotonic()
    answers = asked({name: ([paths[name]], os.environ) for name in names}, patience=1.0)
    assert time.monotonic() - began < 3 * 60  # one patience each, not one life each
    assert {answer.problem for answer in answers.values()} == {
        "did not tell its version within 1 s"
    }
    left = {int((tmp_path / name).read_text()) for name in names}
    deadline = time.monotonic() + 10  # killed is killed; init reaps them when it gets to it
    while (
        left := {pid for pid in left if process_identity.identify(pid)}
    ) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left


def test_the_question_for_a_version_leaves_nothing_in_a_clis_home(fleet, tmp_path, monkeypatch):
    """Codex makes its home for it, and a person who never used codex would find one."""
    a_program(tmp_path / "bin/mycli", 'touch "$MINE_HOME/made"; echo 1.2.3')
    monkeypatch.setenv("MINE_HOME", str(tmp_path))
    text = 'argv = ["mycli", "{prompt}"]\nstate_variable = "MINE_HOME"\nversion_args = ["-v"]\n'
    coder_file(fleet, "mine.toml", text)
    mine = next(coder for coder in coders_here(fleet) if coder.name == "mine")
    assert mine.version == "1.2.3"
    assert not (tmp_path / "made").exists()


def test_a_program_that_cannot_be_started_says_why(tmp_path):
    """Found, executable, and still no program."""
    path = tmp_path / "broken"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    assert asked({"x": ([str(path)], os.environ)})["x"].problem.startswith("cannot be started: ")


def test_an_agent_cannot_trust_a_coder(fleet):
    """Whatever bears the mark of a run is refused, and so is what such a process started."""
    (fleet.home.path / "coders/evil.toml").write_text('argv = ["evil", "{prompt}"]\n')
    (fleet.home.path / "runtime.toml").write_text("")
    env = {**os.environ, "FLEET_HOME": str(fleet.home.path), "FLEET_RUN_ID": "them.fleet-1.1"}
    argv = [sys.executable, "-m", "fleet", "coders", "trust", "evil"]
    child = (
        f"import os, subprocess, sys; e = dict(os.environ); del e['FLEET_RUN_ID'];"
        f"sys.exit(subprocess.run({argv!r}, env=e).returncode)"
    )
    for words in (argv, [sys.executable, "-c", child]):
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "agent" in done.stderr
    assert trusted_files.untrusted(fleet.home.path) == ["evil"]
