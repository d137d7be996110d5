"""What a box opens for programs, and what its environment leaves out."""

import pytest

from fleet.sandbox.toolchains import boxed_env, package_of, toolchains


def test_toolchains_are_found_by_home_variables_and_path():
    """A version manager brings its whole directory, others their programs and libraries."""
    env = {
        "PATH": "/home/op/.pyenv/shims:/opt/node/bin:relative:",
        "CARGO_HOME": "/c",
        "GOROOT": "/g",
    }
    found = list(toolchains(env, "/home/op"))
    assert {"/home/op/.nvm", "/c/bin", "/g", "/home/op/.pyenv", "/opt/node/bin"} <= set(found)
    assert "/opt/node/lib" in found
    assert not [path for path in found if not path.startswith("/")]
    assert "/c" not in found  # with its credentials and what it has fetched


@pytest.mark.parametrize(
    ("program", "opened"),
    [
        ("/x/node_modules/@a/claude/bin/claude.exe", "/x/node_modules"),
        ("/x/node_modules/a/node_modules/b/c.js", "/x/node_modules"),
        ("/home/op/.local/share/claude/versions/2.1", "/home/op/.local/share/claude/versions"),
    ],
)
def test_a_program_brings_its_package(program, opened):
    """A program of node needs the packages that lie beside its own."""
    assert package_of(program) == opened


def test_no_socket_is_named_in_a_box():
    """An agent that holds keys is not to be asked from inside."""
    env = boxed_env({"SSH_AUTH_SOCK": "/tmp/a", "XDG_RUNTIME_DIR": "/run/user/1", "LANG": "C"})
    assert env == {
        "LANG": "C",
        "TMPDIR": "/tmp",
        "CLAUDE_CODE_TMPDIR": "/tmp",
        "IS_SANDBOX": "1",
    }
