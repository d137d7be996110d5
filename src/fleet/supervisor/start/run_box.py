"""The box of one run: what of the home, of the account and of the project the agent can reach."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from fleet.coders.base import Coder
from fleet.config import Config
from fleet.git import repository
from fleet.git.clone.source_facts import objects_of_clone
from fleet.git.commit_words import author_in
from fleet.git.repository import Repository
from fleet.home import Home, clone_record
from fleet.runs.run_directory import NOWHERE, Run
from fleet.sandbox.bwrap_argv import bwrap_argv
from fleet.sandbox.make_box import make_box
from fleet.sandbox.strict_argv import mask, proxied_env, strict_argv
from fleet.sandbox.toolchains import boxed_env
from fleet.sandbox.try_box import require_box
from fleet.schemas import Policy
from fleet.supervisor.start.own_state import OwnState


class RunCommand(Struct, frozen=True, kw_only=True):
    """What a keeper starts for a run."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


def check_box(policy: Policy) -> None:
    """Raise FleetError unless the box that the policy wants can be had here."""
    if policy.sandbox.level != "off":
        require_box()


def box_run(
    command: RunCommand,
    *,
    home: Home,
    config: Config,
    run: Run,
    coder: Coder,
    policy: Policy,
    programs: Path,
    own: OwnState | None = None,
) -> RunCommand:
    """The command in the box of the run, with the run's own CLI state. Raises FleetError."""
    program = require_box()
    if shutil.which(command.argv[0], path=command.env.get("PATH")) is None:
        # The run ends as outside of a box: no such program. No program can have this path.
        nowhere = f"{NOWHERE}{command.argv[0]}"
        return RunCommand(argv=(nowhere,), cwd=command.cwd, env=command.env)
    artifacts = run.task_dir / "artifacts"
    cwd, workspace = _workspace(home, run, command.cwd)
    accounts = (account.directory for account in config.accounts.values() if account.directory)
    prompt = () if coder.prompt_on_stdin else (str(coder.prompt_file(run.task_dir)),)
    box = make_box(
        command.env,
        cwd=cwd,
        program=command.argv[0],
        write=[workspace, str(artifacts), str(run.spool), *policy.sandbox.write],
        read=[
            str(programs), *prompt, *policy.sandbox.read, *objects_of_clone(home, run.task_id),
        ],
        hidden=[
            str(home.path), *(own.hidden if own else ()),
            *(path for path in accounts if own is None or path != own.place),
        ],
        mounts=own.mounts if own else (),
        reached=[own.place] if own else [],
        network=policy.sandbox.level != "strict",
    )  # fmt: skip
    # The file with the author's name is not in the box, and may hold keys.
    env = {**boxed_env(command.env), **author_in(_project(home, run, command.cwd)).variables}
    if policy.sandbox.level != "strict":
        return RunCommand(argv=(program, *bwrap_argv(box, command.argv)), cwd=cwd, env=env)
    hosts = (*coder.hosts, *_named_hosts(coder, env), *policy.sandbox.hosts)
    masked = mask(env, coder.maskable, next(iter(coder.url_variables), ""), coder.vendor_url)
    argv = strict_argv(box, command.argv, program=program, hosts=hosts, masked=masked)
    return RunCommand(argv=argv, cwd=cwd, env=proxied_env(env, hosts, masked))


def _named_hosts(coder: Coder, env: Mapping[str, str]) -> Iterator[str]:
    """Hosts that the operator's environment names in the place of the vendor's."""
    for name in coder.url_variables:
        parts = urlsplit(env.get(name, ""))
        if parts.hostname:
            port = parts.port or (80 if parts.scheme == "http" else 443)
            yield f"{parts.hostname}:{port}"


def _workspace(home: Home, run: Run, cwd: str) -> tuple[str, str]:
    """Where the agent begins, and what the agent may write of the project: the task's own tree, or
    the directory itself. A task without a directory works in its artifacts.
    """
    tree = home.worktrees / run.task_id
    if _is_in(cwd, tree):
        return cwd, str(tree)
    place = str(run.task_dir / "artifacts") if _is_in(cwd, home.path) else cwd
    return place, place


def _is_in(cwd: str, place: Path) -> bool:
    above, path = os.path.realpath(place), os.path.realpath(cwd)
    return path == above or path.startswith(f"{above}/")


def _project(home: Home, run: Run, cwd: str) -> Repository | None:
    """The project that a run works for: the one that was cloned, or the one around the run's
    directory.
    """
    record = clone_record.read(home, run.task_id)
    return repository.find(record.repository if record is not None else cwd)
