"""The verify command that the files of a project name."""

import pytest

from fleet.evidence.propose_verify import propose


@pytest.mark.parametrize(
    ("files", "command", "found_in"),
    [
        ({"Makefile": "all:\n\ntest: all\n\tpytest\n"}, "make test", "Makefile"),
        ({"Makefile": "check:\n\tpytest\n"}, "make check", "Makefile"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q", None),
        ({"pyproject.toml": 'dev = ["pytest>=8"]\n', "uv.lock": ""}, "uv run pytest -q", None),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test", None),
        ({"package.json": '{"scripts": {"test": "x"}}', "pnpm-lock.yaml": ""}, "pnpm test", None),
        ({"Cargo.toml": "[package]\n"}, "cargo test", "Cargo.toml"),
        ({"go.mod": "module x\n"}, "go test ./...", "go.mod"),
        ({"Makefile": "all:\n", "go.mod": "module x\n"}, "go test ./...", "go.mod"),
        ({"Makefile": "test:\n", "go.mod": "module x\n"}, "make test", "Makefile"),
    ],
)
def test_the_first_file_that_names_tests_is_believed(tmp_path, files, command, found_in):
    """A Makefile before what a language has by itself."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = propose(tmp_path)
    assert found.command == command
    assert found.found_in == (found_in or next(iter(files)))


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"Makefile": "test := 1\nall:\n"},
        {"pyproject.toml": "[project]\nname = 'x'\n"},
        {"pyproject.toml": "not toml = = pytest"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": ["pytest"]}'},
        {"package.json": "no json"},
    ],
)
def test_a_project_that_names_none_gets_no_proposal(tmp_path, files):
    """Nor does a damaged file."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert propose(tmp_path) is None


@pytest.mark.parametrize(
    ("files", "command", "share"),
    [
        (("pyproject.toml", ".venv/bin/python"), ".venv/bin/python -m pytest -q", (".venv",)),
        (("pytest.ini", "venv/bin/python"), "venv/bin/python -m pytest -q", ("venv",)),
        (("pyproject.toml", "uv.lock", ".venv/x"), "uv run pytest -q", (".venv",)),
        (("package.json", "node_modules/x"), "npm test", ("node_modules",)),
        (("package.json", "yarn.lock", "node_modules/x"), "yarn test", ("node_modules",)),
        (("package.json",), "npm test", ()),
        (("Makefile", ".venv/bin/python"), "make test", ()),
    ],
)
def test_installed_packages_are_shared_with_the_checkout(tmp_path, files, command, share):
    """A fresh checkout has nothing that git ignores."""
    texts = {"package.json": '{"scripts": {"test": "jest"}}', "Makefile": "test:\n"}
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(texts.get(name, "[tool.pytest.ini_options]\n"))
    found = propose(tmp_path)
    assert (found.command, found.share) == (command, share)


def test_a_link_to_elsewhere_is_not_read(tmp_path):
    """An agent may have put it there."""
    (tmp_path / "other").write_text("test:\n")
    (tmp_path / "Makefile").symlink_to(tmp_path / "other")
    assert propose(tmp_path) is None
