"""Fleet that starts fleet: one command line, which imports nothing of the working directory."""

import ast
from pathlib import Path

from fleet.processes.own_program import OWN_PROGRAM

SOURCE = Path(__file__).parents[3] / "src/fleet"
#: Runs on another machine, in the directory that a login there has.
ELSEWHERE = "control/hosts/add/setup_there.py"
#: Shown to a person as a command, and not run.
SHOWN = "processes/own_distribution.py"


def modules_started():
    """Every command line in the source that has Python run a module."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple):
                words = [ast.unparse(each) for each in node.elts]
                if "sys.executable" in words and "'-m'" in words:
                    yield path.relative_to(SOURCE).as_posix(), words


def test_no_module_is_run_with_the_working_directory_on_its_path():
    """A project's `fleet/__main__.py` would run in the place of fleet, outside of every box."""
    found = list(modules_started())
    assert {name for name, words in found if "'-P'" not in words} == {ELSEWHERE, SHOWN}
    assert [name for name, words in found if "'fleet'" in words] == ["processes/own_program.py"]
    assert OWN_PROGRAM[1:] == ("-P", "-m", "fleet")
