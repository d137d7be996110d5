"""A home that `fleet doctor` finds nothing wrong with."""

import os
from datetime import UTC, datetime

import msgspec
import pytest

from fleet import config
from fleet.doctor import Installation


@pytest.fixture
def installation(home, tmp_path):
    """A sound home of a user with git."""
    home.config.write_text("")
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@example.org\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FLEET_HOME": str(home.path)}
    return Installation(home=home, env=env, now=datetime.now(UTC), config=config.load(home.config))


def with_settings(installation, text):
    installation.home.config.write_text(text)
    return msgspec.structs.replace(installation, config=config.load(installation.home.config))


def with_env(installation, **env):
    return msgspec.structs.replace(installation, env={**installation.env, **env})
