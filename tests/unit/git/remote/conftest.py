"""A project with a bare remote on the disk, and fleet's own repository of the project."""

import time

import pytest

from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.own.own_repository import own_repository
from fleet.git.remote.remote_git import RemoteGit
from tests.repos import ENV, Repo

MAIN = "refs/heads/main"


class Project:
    """A repository that follows `main` of a bare one, and what fleet has of it."""

    def __init__(self, root):
        self.bare = Repo(root / "remote.git", "--bare")
        self.repo = Repo(root / "project")
        self.first = self.repo.commit("first", a="one\n")
        self.repo.git("remote", "add", "origin", str(self.bare.root))
        self.repo.git("push", "-q", "-u", "origin", "main")
        self.home = root / "home"
        found = repository.find(str(self.repo.root))
        self.own = own_repository(self.home, found)
        self.git = Git(self.own, time.monotonic() + 60)
        self.project_git = Git(found, time.monotonic() + 60)

    def remote(self, **options):
        env = {**ENV, "HOME": str(self.home)}
        return RemoteGit(self.own, str(self.bare.root), env=env, **options)

    def work(self, **files):
        """A commit of the project that is not on the remote."""
        return self.repo.commit("work", **files)

    def other_hand(self, **files):
        """A commit that another person pushes to the remote."""
        name = self.home.parent / f"other-{len(list(self.home.parent.iterdir()))}"
        self.bare.git("clone", "-q", str(self.bare.root), str(name))
        other = Repo.__new__(Repo)
        other.root = name
        commit = other.commit("theirs", **files)
        other.git("push", "-q", "origin", "main")
        return commit

    def at(self, ref=MAIN):
        return self.bare.git("rev-parse", "--verify", "-q", ref, ok=False)

    def hook(self, name, text):
        path = self.bare.root / "hooks" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)
