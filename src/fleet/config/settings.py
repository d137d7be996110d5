"""`Config`: the settings in force."""

from msgspec import field

from fleet.config import projects as project_tables
from fleet.config.key_values import KeyValues
from fleet.config.notify import NotifySettings
from fleet.config.otel import OtelSettings
from fleet.config.projects import Project
from fleet.schemas import Account, Price


class Config(KeyValues, frozen=True, kw_only=True):
    """The values of all keys, and what the tables of runtime.toml say."""

    #: What differs for the tasks of one project, by its directory.
    projects: dict[str, Project] = field(default_factory=dict[str, Project])
    #: What tokens cost by a person's own knowledge, by a pattern of the model's name.
    prices: dict[str, Price] = field(default_factory=dict[str, Price])

    #: Which people are told of what needs a person, and how.
    notify: NotifySettings = field(default_factory=NotifySettings)

    #: Where traces of tasks and runs go.
    otel: OtelSettings = field(default_factory=OtelSettings)

    #: The logins and keys that there are, by name; none: the user's own.
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])

    @property
    def shares_queue(self) -> bool:
        """Other machines may work on the same queue."""
        return self.queue not in ("embedded", "beads")

    def project(self, cwd: str) -> Project:
        """The project that a directory belongs to."""
        return project_tables.of(self.projects, cwd)
