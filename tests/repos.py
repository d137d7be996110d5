"""A git repository made for a test, and a run that works in it."""

import os
import subprocess

from fleet.git import run_baseline, snapshot_names
from fleet.git.own import own_repository
from fleet.runs.run_directory import Run

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    # Or each commit starts another git to see whether there is something to tidy.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_AUTHOR_NAME": "user",
    "GIT_AUTHOR_EMAIL": "user@example.org",
    "GIT_COMMITTER_NAME": "user",
    "GIT_COMMITTER_EMAIL": "user@example.org",
}


class Repo:
    """A repository of the user's."""

    def __init__(self, root, *options):
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *args, ok=True):
        done = subprocess.run(
            ["git", *args], cwd=self.root, env=ENV, capture_output=True, text=True, timeout=30
        )
        assert not ok or done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def write(self, **files):
        """Files by name, with `__` for a slash and `_dot_` for a dot."""
        for name, text in files.items():
            self.put(name.replace("__", "/").replace("_dot_", "."), text)

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message="a commit", **files):
        self.write(**files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


class RunIn:
    """A run that found a repository: what it changed since."""

    def __init__(self, root, repo, number=1, cwd=None):
        self.home = root / "home"
        self.dir = self.home / "tasks" / "fleet-1" / "runs" / str(number)
        self.dir.mkdir(parents=True)
        self.key = f"fleet-1/{number}"
        place = str(cwd or repo.root)
        keep = self.dir.parent.parent / snapshot_names.INDEX
        self.base = run_baseline.record_base(place, self.key, home=self.home, keep=keep)

    def git(self, *args):
        """Git in fleet's own repository."""
        own = own_repository.known_repository(self.home, self.base.root)
        done = subprocess.run(
            ["git", "--git-dir", own.git_dir, *args],
            cwd=self.home, env=ENV, capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        return done.stdout.rstrip("\n")

    def changes(self):
        return run_baseline.changes_since(self.base, Run(self.dir))

    def files(self):
        """The changed files by kind."""
        changes = self.changes()
        assert not changes.trouble, changes.trouble
        return {change.path: change.kind for change in changes.files}
