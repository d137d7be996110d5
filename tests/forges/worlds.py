"""A repository on a forge, seen from fleet, with people on the other side: one kind for each forge.

`address` is what git pushes to, `forge` what fleet asks, `people` acts there.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from fleet.forge.forge_protocol import Forge
from fleet.forge.gitea import Gitea
from fleet.forge.github import GitHub
from fleet.forge.repository_address import address_of
from tests.builders import a_program
from tests.fakes import compiled
from tests.forges.real_gitea import GiteaPeople, RealGitea
from tests.forges.scripted_gitea import TOKEN, scripted_gitea
from tests.forges.state import ForgeState, People
from tests.repos import Repo

TESTS = Path(__file__).parents[2]


class ForgeWorld(Struct):
    """One repository, which `repo` was pushed to."""

    repo: Repo
    forge: Forge
    people: People | GiteaPeople
    #: What the scripted forges know; None: it is the real one.
    state: ForgeState | None = None

    def work(self, branch: str, **files: str) -> str:
        """A commit of fleet's on a branch of its own, pushed."""
        self.repo.git("checkout", "-q", "-B", branch, "main")
        commit = self.repo.commit(f"work on {branch}", **files)
        self.repo.git("push", "-q", "--force", "origin", f"{branch}:{branch}")
        return commit

    def tip(self, branch: str) -> str:
        return self.repo.git("ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]


def _scripted(root: Path) -> tuple[ForgeState, Repo]:
    state = ForgeState(root)
    Repo(state.bare, "--bare")
    repo = Repo(root / "project")
    repo.commit("first", a="one\n")
    repo.git("remote", "add", "origin", str(state.bare))
    repo.git("push", "-q", "-u", "origin", "main")
    return state, repo


@contextmanager
def scripted_gitea_world(root: Path):
    state, repo = _scripted(root)
    with scripted_gitea(state) as face:
        forge = Gitea(address_of(f"{face.site}/team/app.git", "auto"), f"token {TOKEN}")
        yield ForgeWorld(repo=repo, forge=forge, people=People(state), state=state)


def gh_env(state: ForgeState) -> dict[str, str]:
    """The environment in which `gh` is the scripted one."""
    program = compiled(Path(__file__).with_name("scripted_gh.py"))
    gh = a_program(state.file.parent / "bin/gh", f'exec {sys.executable} -I -S {program} "$@"')
    return {
        "PATH": f"{Path(gh).parent}:{os.environ['PATH']}",
        "SCRIPTED_FORGE": str(state.file.parent),
        "SCRIPTED_FORGE_TESTS": str(TESTS),
    }


@contextmanager
def scripted_github_world(root: Path):
    state, repo = _scripted(root)
    forge = GitHub(address_of("git@github.com:team/app.git", "auto"), gh_env(state))
    yield ForgeWorld(repo=repo, forge=forge, people=People(state), state=state)


@contextmanager
def real_gitea_world(server: RealGitea, root: Path, name: str):
    """A repository of its own on a server that tests share."""
    server.ask("fleet", "user", "repos", body={"name": name, "default_branch": "main"})
    permission = {"permission": "write"}
    server.change("fleet", "PUT", "repos", "fleet", name, "collaborators", "ann", body=permission)
    repo = Repo(root / "project")
    repo.commit("first", a="one\n")
    address = f"{server.site}/fleet/{name}.git"
    login = address.replace("http://", f"http://fleet:{server.tokens['fleet']}@")
    repo.git("remote", "add", "origin", login)
    repo.git("push", "-q", "-u", "origin", "main")
    forge = Gitea(address_of(address, "auto"), f"token {server.tokens['fleet']}")
    yield ForgeWorld(repo=repo, forge=forge, people=GiteaPeople(server, name))
