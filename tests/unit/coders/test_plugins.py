"""Where coders come from, and how a broken one is told."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from fleet import coders
from fleet.coders import plugins
from fleet.coders.base import Coder, Options
from fleet.errors import BadInput
from tests.builders import a_task, trust_coders
from tests.unit.coders.test_seed_coder import EXAMPLE

ECHO = """
from fleet.coders.base import Coder
from fleet.schemas import Event

class EchoCoder(Coder):
    name = "echo"
    context_limit = 1000
    default_model = "small"

    def build_argv(self, task, task_dir):
        return ["echo", self.model, self.prompt(task, task_dir)]

    def normalize_event(self, raw_line):
        return Event(kind="assistant_text", text=raw_line)
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "coders").mkdir()
    return tmp_path


def add(home, name, text):
    path = home / "coders" / name
    path.write_text(text, encoding="utf-8")
    trust_coders(home)
    return path


def test_the_built_in_coders_come_first():
    """The order of the documentation."""
    assert coders.names() == ("claude", "agy", "codex")
    assert coders.origin("codex") == "built in"


def test_naming_coders_imports_none_of_them():
    """`fleet --help` lists coders; it must not pay for their modules."""
    code = (
        "import sys, fleet.coders; fleet.coders.names(); fleet.coders.origin('claude');"
        "loaded = [m for m in sys.modules if m.startswith('fleet.coders.')];"
        "print(sorted(m for m in loaded if m.split('.')[2].split('_')[0] in"
        " ('claude', 'codex', 'agy', 'declared')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_importing_the_registry_imports_no_library():
    """The name of the room costs nothing."""
    heavy = "('msgspec', 'importlib.metadata')"
    code = f"import sys, fleet.coders; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_file_in_the_home_is_a_coder(home):
    """Nothing has to be registered."""
    path = add(home, "echo.py", ECHO)
    assert coders.names(home) == ("claude", "agy", "codex", "echo")
    assert coders.origin("echo", home) == str(path)
    coder = coders.make("echo", "sonnet", Options(resume="x"), home, inherited=True)
    assert (coder.model, coder.options.resume) == ("small", "x")


def test_a_changed_file_is_read_again(home):
    """A supervisor that runs for weeks sees an edit, even one within the same second."""
    path = add(home, "echo.py", ECHO)
    assert coders.make("echo", home=home).model == "small"
    add(home, "echo.py", ECHO.replace("small", "large"))
    assert coders.make("echo", home=home).model == "large"
    assert not list(path.parent.glob("__pycache__"))


def test_while_tasks_are_started_a_coder_is_looked_for_once(home, monkeypatch):
    """And anew with the next start, where a person may have changed its file."""
    add(home, "echo.py", ECHO)
    looks = []
    find = plugins.find
    monkeypatch.setattr(plugins, "find", lambda home: looks.append(home) or find(home))
    with coders.found_once():
        kind = coders.find("echo", home)
        assert type(coders.make("echo", home=home)) is kind
        assert len(looks) == 1
    add(home, "echo.py", ECHO.replace("small", "large"))
    with coders.found_once():
        assert coders.make("echo", home=home).model == "large"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class (", "SyntaxError"),
        ("import no_such_module_here", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "defines no Coder"),
        (ECHO.replace('"echo"', '"other"'), "call it other.py"),
        (ECHO.replace("1000", "'many'"), "context_limit"),
        (ECHO.replace("def normalize_event", "def something_else"), "defines no Coder"),
    ],
)
def test_a_broken_file_is_told_by_name_and_breaks_no_other(home, text, told):
    """The others work as before, and the message says which file to look at."""
    path = add(home, "echo.py", text)
    add(home, "fine.py", ECHO.replace('"echo"', '"fine"'))

    with pytest.raises(BadInput) as caught:
        coders.make("echo", home=home)
    assert told in caught.value.message
    assert str(path) in caught.value.message
    assert coders.make("fine", home=home).model == "small"
    assert coders.make("claude", home=home).model == "sonnet"
    assert list(coders.problems(home)) == ["echo"]


def test_a_broken_toml_file_is_told_by_name_and_place(home):
    """The key that is wrong stands in the message."""
    path = add(home, "gem.toml", 'argv = ["gem", "{prompt}"]\ncontext_limit = "big"')
    with pytest.raises(BadInput) as caught:
        coders.make("gem", home=home)
    assert str(path) in caught.value.message
    assert "context_limit" in caught.value.message


def test_a_file_cannot_take_a_built_in_coders_name(home):
    """What `claude` means does not depend on who could write a file."""
    add(home, "claude.py", ECHO.replace('"echo"', '"claude"'))
    assert coders.make("claude", home=home).program == "claude"
    assert "comes first" in coders.problems(home)["claude"]


def test_a_package_brings_a_coder(home, monkeypatch):
    """An entry point is enough; a file of the same name comes before it."""
    point = EntryPoint("packed", "fleet.coders.codex:CodexCoder", plugins.GROUP)
    bad = EntryPoint("odd", "fleet.coders.codex:_MODES", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints([point, bad]))
    monkeypatch.setattr(plugins, "_packages", plugins._packages.__wrapped__)
    assert coders.names() == ("claude", "agy", "codex", "odd", "packed")
    assert coders.find("packed").name == "codex"
    with pytest.raises(BadInput, match="is no Coder"):
        coders.find("odd")
    add(home, "packed.py", ECHO.replace('"echo"', '"packed"'))
    assert coders.find("packed", home).name == "packed"


def test_an_unknown_name_gets_the_nearest_one():
    """A slip of the finger is answered with the name that was meant."""
    with pytest.raises(BadInput) as caught:
        coders.make("cluade")
    assert caught.value.message == "unknown coder: cluade"
    assert caught.value.hint == "Did you mean claude? There is claude, agy, codex."
    with pytest.raises(BadInput):
        coders.origin("zzz")


def test_a_coder_that_cannot_be_made_is_told(home):
    """A constructor that wants more than a model is a mistake in that file alone."""
    add(home, "echo.py", ECHO + "\n    def __init__(self, a, b): pass\n")
    with pytest.raises(BadInput, match="echo"):
        coders.make("echo", home=home)


@pytest.mark.parametrize("name", coders.names())
def test_every_built_in_coder_is_whole(name):
    """The name in the registry is the coder's own, and its program is named."""
    coder = coders.make(name)
    assert isinstance(coder, Coder)
    assert coder.name == name
    assert (coder.program or name, *coder.version_args) == (name, "--version")


def test_the_documented_coder_finds_the_templates_from_the_home(home):
    """It reads them beside its own directory, which is the home's `coders` there."""
    add(home, "mycoder.py", EXAMPLE)
    coder = coders.make("mycoder", home=home)
    argv = coder.build_argv(a_task(), home / "tasks/fleet-abc")
    assert argv[:2] == ["mycli", "--model"]
    assert "bd close" in argv[-1]


def test_templates_of_a_person_stay_and_a_link_of_an_old_installation_goes(home):
    """The link leads to the package that is installed now."""
    add(home, "mycoder.py", EXAMPLE)
    (home / "templates").symlink_to(home / "gone")
    coders.make("mycoder", home=home)
    assert (home / "templates/INSTRUCTION.md").is_file()
    (home / "templates").unlink()
    (home / "templates").mkdir()
    add(home, "mycoder.py", EXAMPLE + "\n")
    coders.make("mycoder", home=home)
    assert list((home / "templates").iterdir()) == []
