"""`runtime.toml`: its keys (`keys`, `key_values`), its tables, and the settings that it gives."""

from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS
from fleet.config.projects import Project
from fleet.config.runtime_toml import FILE, default_text, load
from fleet.config.settings import Config

__all__ = ["FILE", "KEYS", "Config", "Project", "Setting", "default_text", "load"]
