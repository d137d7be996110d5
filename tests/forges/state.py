"""What a scripted forge knows, kept in a file, over a bare repository with real git.

People act on it in tests; its two faces, Gitea's HTTP interface and `gh`, show it as the real ones
do. The answers are shaped after those of Gitea 1.26 and GitHub's GraphQL interface.
"""

import fcntl
import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

ENV = {
    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "forge"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}
EMPTY = {"pulls": {}, "statuses": {}, "remarks": [], "reviews": [], "asked": [], "queue": False}
WRITERS = ("fleet", "ann")


class ForgeState:
    """One repository on a scripted forge."""

    def __init__(self, root: Path) -> None:
        self.file = root / "forge.json"
        self.bare = root / "app.git"

    def git(self, *args: str, ok: bool = True) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.bare, env=ENV, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 or not ok, done.stderr
        return done.stdout.strip() if done.returncode == 0 else ""

    @contextmanager
    def changing(self):
        """The state, to be changed while no other process does."""
        with self.file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.read()
            state["revision"] = state.get("revision", 0) + 1
            yield state
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(state))
            new.replace(self.file)

    def read(self) -> dict:
        return (
            json.loads(self.file.read_text())
            if self.file.exists()
            else json.loads(json.dumps(EMPTY))
        )

    def tip(self, branch: str) -> str:
        return self.git("rev-parse", "--verify", "-q", f"refs/heads/{branch}", ok=False)

    def open(self, branch: str, base: str, title: str, body: str) -> dict:
        with self.changing() as state:
            number = len(state["pulls"]) + 1
            state["pulls"][str(number)] = {
                "number": number,
                "branch": branch,
                "base": base,
                "title": title,
                "body": body,
                "state": "open",
                "merge_commit": "",
                "head": self.tip(branch),
                "queued": False,
            }
            return state["pulls"][str(number)]

    def pull(self, number: int) -> dict | None:
        pull = self.read()["pulls"].get(str(number))
        if pull is not None and pull["state"] == "open":
            pull["head"] = self.tip(pull["branch"]) or pull["head"]
        return pull

    def statuses(self, commit: str) -> list[dict]:
        """The checks of a commit: what people set, or what the scripted CI finds.

        The CI fails where a file of the name in `ci` is in the tree.
        """
        known = self.read()
        if "ci" not in known or commit in known["statuses"]:
            return known["statuses"].get(commit, [])
        bad = self.git("ls-tree", "--name-only", commit, known["ci"])
        state, text = ("failed", f"{known['ci']} is there") if bad else ("passed", "")
        return [{"name": "build", "state": state, "text": text}]

    def mergeable(self, pull: dict) -> bool:
        return bool(self._merged_tree(pull))

    def merge(self, number: int, how: str = "merge") -> None:
        """Put the commits of a pull request onto its base."""
        pull = self.pull(number)
        base, tree = self.tip(pull["base"]), self._merged_tree(pull)
        parents = ["-p", base, *(["-p", pull["head"]] if how == "merge" else [])]
        commit = self.git("commit-tree", tree, *parents, "-m", pull["title"])
        self.git("update-ref", f"refs/heads/{pull['base']}", commit, base)
        with self.changing() as state:
            state["pulls"][str(number)] |= {
                "state": "merged",
                "merge_commit": commit,
                "head": pull["head"],
                "queued": False,
            }

    def _merged_tree(self, pull: dict) -> str:
        return self.git(
            "merge-tree", "--write-tree", self.tip(pull["base"]), pull["head"], ok=False
        )


class People:
    """What people and a CI do on a scripted forge."""

    def __init__(self, state: ForgeState) -> None:
        self._state = state

    def check(self, commit: str, name: str, state: str, text: str = "") -> None:
        with self._state.changing() as known:
            found = known["statuses"].setdefault(commit, [])
            found[:] = [each for each in found if each["name"] != name]
            found.append({"name": name, "state": state, "text": text})

    def remark(self, number: int, author: str, path: str, line: int, text: str) -> str:
        with self._state.changing() as known:
            made = {"id": len(known["remarks"]) + 1, "number": number, "author": author}
            known["remarks"].append(
                {**made, "path": path, "line": line, "text": text, "open": True}
            )
            return str(made["id"])

    def resolve(self, remark: str) -> None:
        with self._state.changing() as known:
            known["remarks"][int(remark) - 1]["open"] = False

    def review(self, number: int, author: str, state: str, text: str = "") -> None:
        """`state` is `approved` or `changes_requested`."""
        with self._state.changing() as known:
            made = {"id": 100 + len(known["reviews"]), "number": number, "author": author}
            known["reviews"].append({**made, "state": state, "text": text})

    def close(self, number: int) -> None:
        with self._state.changing() as known:
            known["pulls"][str(number)]["state"] = "closed"

    def merge(self, number: int) -> None:
        self._state.merge(number)

    def push(self, branch: str, **files: str) -> str:
        """A commit of another person on a branch."""
        git, old = self._state.git, self._state.tip(branch)
        entries = git("ls-tree", old).splitlines()
        for name, text in files.items():
            blob = subprocess.run(
                ["git", "hash-object", "-w", "--stdin"], cwd=self._state.bare, env=ENV,
                input=text.encode(), capture_output=True, check=True,
            ).stdout.decode().strip()  # fmt: skip
            entries = [line for line in entries if not line.endswith(f"\t{name}")]
            entries.append(f"100644 blob {blob}\t{name}")
        tree = subprocess.run(
            ["git", "mktree"], cwd=self._state.bare, env=ENV,
            input="".join(f"{line}\n" for line in entries).encode(),
            capture_output=True, check=True,
        ).stdout.decode().strip()  # fmt: skip
        commit = git("commit-tree", tree, "-p", old, "-m", "theirs")
        git("update-ref", f"refs/heads/{branch}", commit, old)
        return commit
