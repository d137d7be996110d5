"""`runtime.toml`: its keys, its tables, and the settings that it gives."""

from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS
from fleet.config.projects import Project
from fleet.config.runtime_toml import FILE, Config, default_text, load

__all__ = ["FILE", "KEYS", "Config", "Project", "Setting", "default_text", "load"]
