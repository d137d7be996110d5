"""`runtime.toml`: keys, tables, and the settings that these give."""

from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS
from fleet.config.projects import Project
from fleet.config.runtime_toml import FILE, Config, default_text, load

__all__ = ["FILE", "KEYS", "Config", "Project", "Setting", "default_text", "load"]
