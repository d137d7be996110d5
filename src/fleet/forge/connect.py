"""Connects to the forge that an address of git leads to, with the operator's own login.

GitHub: the login of `gh`. Gitea and Forgejo: a token from where the settings say that it is, or
else what the operator's git would use for the same host. No agent has any of these.
"""

import base64
import os
import shutil
from collections.abc import Mapping
from urllib.parse import urlsplit

from fleet.accounts.kept_secret import SecretTrouble, read_secret
from fleet.errors import FleetError
from fleet.forge.forge_protocol import Forge
from fleet.forge.gitea import Gitea
from fleet.forge.github import GitHub
from fleet.forge.repository_address import RepositoryAddress, address_of
from fleet.git.remote.remote_git import operator_env
from fleet.git.repository import Repository
from fleet.processes.bounded_call import Exited, call

_PATIENCE = 30.0
_HINT = "Say where a token is: fleet config set --project . forge_token=env:NAME"


def connect(
    url: str, forge: str, token: str, own: Repository, env: Mapping[str, str] = os.environ
) -> Forge:
    """The forge behind an address; `forge` and `token` are the settings. Raises FleetError."""
    address = address_of(url, forge)
    if address.kind == "github":
        return GitHub(address, env)
    return Gitea(address, _token(token, env) if token else _git_login(address, own, env))


def _token(place: str, env: Mapping[str, str]) -> str:
    try:
        return f"token {read_secret(place, env)}"
    except SecretTrouble as error:
        raise FleetError(f"forge_token: {error.message}", hint=_HINT) from None


def _git_login(address: RepositoryAddress, own: Repository, env: Mapping[str, str]) -> str:
    """What the operator's credential helper has for the host."""
    parts = urlsplit(address.site)
    ask = f"protocol={parts.scheme}\nhost={parts.netloc}\npath={address.owner}/{address.name}.git\n"
    program = shutil.which("git") or "git"
    done = call(
        [program, "credential", "fill"],
        cwd=own.git_dir,
        env=operator_env(env, own),
        stdin=f"{ask}\n".encode(),
        timeout=_PATIENCE,
    )
    if isinstance(done, Exited) and done.code == 0:
        found: dict[str, str] = {}
        for line in done.text.splitlines():
            name, _, value = line.partition("=")
            found[name] = value
        if found.get("password"):
            pair = f"{found.get('username', '')}:{found['password']}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
    raise FleetError(f"fleet has no login for {address.site}", hint=_HINT)
