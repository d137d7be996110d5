"""The command that adds an optional part of fleet."""

import json
import sys
from importlib.metadata import PathDistribution

import pytest

from fleet.processes import own_distribution
from fleet.processes.own_distribution import how_to_add, installed_extras, requirements

METADATA = """Metadata-Version: 2.4
Name: fleet
Version: 0.1.0
Provides-Extra: postgres
Provides-Extra: otel
Requires-Dist: msgspec>=0.19
Requires-Dist: pytest>=1; extra == "postgres"
Requires-Dist: never-heard-of[binary]>=1; extra == "otel"
"""
EDITABLE = {"url": "file:///src/my fleet", "dir_info": {"editable": True}}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs fleet from somewhere, in an environment that this file marks."""

    def install(origin, mark=""):
        folder = tmp_path / "fleet-0.1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(METADATA)
        if origin:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        own = PathDistribution(folder)
        real = own_distribution.distribution
        monkeypatch.setattr(
            own_distribution, "distribution", lambda name: own if name == "fleet" else real(name)
        )
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        if mark:
            (tmp_path / mark).touch()
        return own

    return install


@pytest.mark.parametrize(
    ("mark", "words"),
    [("uv-receipt.toml", "uv tool install"), ("pipx_metadata.json", "pipx install --force")],
)
def test_a_part_is_added_by_the_installer_that_made_the_environment(installed, mark, words):
    """With what is there already: both replace the whole environment."""
    installed(EDITABLE, mark)
    assert how_to_add("otel") == f"{words} --editable '/src/my fleet[otel,postgres]'"


@pytest.mark.parametrize("has_pip", [True, False])
def test_in_any_other_environment_pip_adds_a_part(installed, monkeypatch, has_pip):
    """Of this very environment, since the one on PATH may be the system's, which refuses."""
    installed(EDITABLE)
    monkeypatch.setattr(own_distribution, "find_spec", lambda _: object() if has_pip else None)
    pip = f"{sys.executable} -m pip install" if has_pip else "uv pip install --python"
    assert how_to_add("notify").startswith(pip)


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({"url": "https://git.example/fleet.git"}, "@ https://git.example/fleet.git'"),
        (None, "'fleet[postgres]'"),
    ],
)
def test_fleet_is_named_as_it_was_installed(installed, origin, words):
    """From an address, or by its name."""
    installed(origin)
    assert how_to_add("postgres").endswith(words)


def test_a_part_is_installed_if_all_that_it_needs_is_there(installed):
    """Also told: which requirement asks for an extra of its own."""
    own = installed(None)
    assert installed_extras(own) == {"postgres"}
    assert [*requirements(own)][-1] == ("never-heard-of", frozenset({"binary"}), "otel")
