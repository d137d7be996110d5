"""A repository that other hosts fetch from, and a host that may."""

import pytest

from fleet.git.mirror.ensure_mirror import ensure_mirror, mirror_repository
from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream
from tests.builders import NOW
from tests.conftest import need
from tests.repos import Repo


class Elsewhere:
    """A project with its bare repository, and the home of another host."""

    def __init__(self, root, home):
        self.home = home
        self.bare = Repo(root / "origin.git", "--bare")
        self.project = Repo(root / "project")
        self.first = self.project.commit("first", a="1\n", src__b="2\n")
        self.project.git("remote", "add", "origin", self.url)
        self.project.git("push", "-q", "-u", "origin", "main")

    @property
    def url(self):
        return str(self.bare.root)

    @property
    def place(self):
        return self.home.mirror(self.url)

    def trust(self, root=None):
        git_dir = f"{root or self.place}/.git"
        trust_remote(
            self.home.path, git_dir, Upstream(remote="origin", url=self.url, branch=""), NOW
        )

    def ensure(self, task_id="fleet-1", **wishes):
        return ensure_mirror(self.home, self.url, task_id, **wishes)

    def mirror(self):
        """The mirror as git sees it."""
        found = Repo.__new__(Repo)
        found.root = mirror_repository(self.place).git_dir
        return found


@pytest.fixture
def elsewhere(tmp_path, home):
    need("git")
    found = Elsewhere(tmp_path, home)
    found.trust()
    return found
