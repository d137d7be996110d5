"""An agent's environment: what the agent needs and no more. Pure: the parent's variables are given.

The supervisor's own environment holds whatever its user exported: tokens of other services,
keys of other coders. So nothing passes that is not named, here or by the coder.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from fleet.coders.base import Coder
from fleet.errors import FleetError
from fleet.home import AGENT_BIN, Home
from fleet.schemas import Task

#: Where programs are looked for, if the parent does not say.
_PATH = "/bin:/usr/bin"

#: What may pass to any agent, and why.
ALLOWED = (
    # To find programs, files and the person whose they are.
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
    # To print and sort text as the person does.
    "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ",
    # To reach the model, and package registries, from behind a proxy or a private authority. A
    # password in a proxy's address passes, since nothing works without it, and is masked.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    # To build: where toolchains are. Paths, no secrets.
    "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "VOLTA_HOME",
    "PNPM_HOME", "BUN_INSTALL", "PYENV_ROOT", "RBENV_ROOT", "DOTNET_ROOT", "ANDROID_HOME",
    "NIX_PATH", "NIX_PROFILES", "UV_CACHE_DIR", "PIP_CACHE_DIR", "npm_config_cache",
    # To find fleet's home, for people's own commands; agents have no business there.
    "FLEET_HOME",
)  # fmt: skip

#: Keep programs from waiting for an answer. Not `CI=1`: with it package managers refuse to change
#: a lock file and test tools refuse to write a snapshot, which is work that agents are asked for.
GUARDS: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GH_PAGER": "cat",
    "GH_PROMPT_DISABLED": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "BD_NON_INTERACTIVE": "1",
    # Notices on usage statistics cost tokens, each time a tool prints them.
    "DO_NOT_TRACK": "1",
}


def run_env(
    parent: Mapping[str, str],
    home: Home,
    coder: Coder,
    task: Task,
    login: Mapping[str, str],
    passes: Sequence[str] = (),
) -> dict[str, str]:
    """The environment of a run's agent, which finds fleet's own programs first; `login` holds the
    variables of the account's login, and `passes` names those that the operator lets through. May
    raise FleetError.
    """
    try:
        env = agent_env(parent, coder, task, home.task(task.id), login, passes)
    except Exception as error:
        # A coder may be foreign code.
        raise FleetError(f"coder {coder.name}: {type(error).__name__}: {error}") from error
    return {**env, "PATH": f"{home.path / AGENT_BIN}:{parent.get('PATH', _PATH)}"}


def agent_env(
    parent: Mapping[str, str],
    coder: Coder,
    task: Task,
    task_dir: Path,
    login: Mapping[str, str] | None = None,
    passes: Sequence[str] = (),
) -> dict[str, str]:
    """The whole environment of an agent.

    `passes` names what the operator lets through beside (`pass_env`). `login` is what an account
    sets. Then the parent's own login stays out: a CLI that finds two takes either.
    """
    left_out = coder.credentials if login else ()
    given = {name: value for name, value in parent.items() if name not in left_out}
    env = plain_env(given)
    env.pop("FLEET_HOME", None)
    named = (*passes, *coder.credentials, *coder.passes)
    env |= {name: given[name] for name in named if name in given}
    env |= coder.env(task, task_dir)
    env |= login or {}
    env |= Coder.env(coder, task, task_dir)
    return env


def plain_env(parent: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command that is no agent, without the login of any coder."""
    env = {name: value for name, value in parent.items() if _may_pass(name)}
    env.setdefault("TERM", "dumb")
    return {**env, **GUARDS}


def secret_values(coder: Coder, env: Mapping[str, str]) -> Iterator[str]:
    """The values in an agent's environment that are secrets: the login, what is named like a key,
    and the passwords of proxies.
    """
    for name, value in env.items():
        if name in coder.boxed_env:  # named for the refresh token that its box does not have
            continue
        if name in coder.credentials or _is_secretive(name):
            yield value
        elif name.lower().endswith("_proxy") and (password := _password(value)):
            yield password


@lru_cache(maxsize=1024)  # every run asks for the same names
def _is_secretive(name: str) -> bool:
    return _SECRETIVE.search(name) is not None


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


#: Names that keys and tokens go by.
_SECRETIVE = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|CUSTOM_HEADERS", re.IGNORECASE
)

_NAMES = frozenset(ALLOWED)
_BEGINNINGS = tuple(pattern.removesuffix("*") for pattern in ALLOWED if pattern.endswith("*"))


def _may_pass(name: str) -> bool:
    return name in _NAMES or name.startswith(_BEGINNINGS)
