"""The entry of the operator's server: what a client's file had is kept, whatever it had."""

import json
import tomllib

import pytest

from fleet.control.supervise.install_entry import NAME, entry_for, write_entry
from fleet.errors import BadInput


def install(home, client, tmp_path, *, write=False):
    entry = entry_for(client, home, write=write, env={"HOME": str(tmp_path)})
    write_entry(entry)
    return entry.path


@pytest.mark.parametrize("client", ["claude", "desktop"])
def test_a_json_file_keeps_what_it_had(home, tmp_path, client):
    """Other servers, other keys; and a second time changes nothing."""
    path = install(home, client, tmp_path)
    had = {"mcpServers": {"db": {"command": "db"}}, "theme": "dunkel, für abends"}
    path.write_text(json.dumps(had))
    install(home, client, tmp_path, write=True)
    once = path.read_text()
    install(home, client, tmp_path, write=True)
    assert path.read_text() == once
    found = json.loads(once)
    assert found["theme"] == had["theme"]
    assert found["mcpServers"]["db"] == {"command": "db"}
    own = found["mcpServers"][NAME]
    assert own["args"][-2:] == ["--allow", "write"]
    assert own["env"] == {"FLEET_HOME": str(home.path)}


def test_a_toml_file_keeps_its_comments(home, tmp_path):
    """A person wrote it."""
    path = install(home, "codex", tmp_path)
    path.write_text('# mine\nmodel = "o3"  # best\n[mcp_servers.db]\ncommand = "db"\n')
    install(home, "codex", tmp_path)
    text = path.read_text()
    assert text.startswith('# mine\nmodel = "o3"  # best\n')
    found = tomllib.loads(text)["mcp_servers"]
    assert found["db"] == {"command": "db"}
    assert found[NAME]["args"][-1] == "--operator"


@pytest.mark.parametrize(
    ("client", "text"), [("claude", "{"), ("claude", "[1]"), ("codex", "a = "), ("desktop", "1")]
)
def test_a_file_that_cannot_be_read_is_left_alone(home, tmp_path, client, text):
    """The person mends it, or puts the entry in by hand."""
    path = install(home, client, tmp_path)
    path.write_text(text)
    with pytest.raises(BadInput, match="cannot be changed"):
        install(home, client, tmp_path)
    assert path.read_text() == text


def test_a_link_stays_a_link(home, tmp_path):
    """People keep such files elsewhere."""
    (tmp_path / "dotfiles.json").write_text("{}")
    (tmp_path / ".claude.json").symlink_to(tmp_path / "dotfiles.json")
    install(home, "claude", tmp_path)
    assert (tmp_path / ".claude.json").is_symlink()
    assert NAME in (tmp_path / "dotfiles.json").read_text()
