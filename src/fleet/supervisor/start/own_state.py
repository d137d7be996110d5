"""The state directory of one boxed run: the CLI's own layout, without anything of other runs.

The box has it at the path of the user's directory, with the user's configuration on top, read-only.
Nothing of the user's directory itself is writable in a box.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fleet.accounts import box_login
from fleet.coders.base import Coder
from fleet.coders.login import Login
from fleet.files.agent_place import AgentPlace
from fleet.runs.cli_state.state_directory import state_directory
from fleet.runs.run_directory import Run
from fleet.sandbox.bwrap_argv import Mount

#: A larger file is not copied: no CLI keeps that much in a list of its plugins.
_LARGEST = 4 << 20


class OwnState(Struct, frozen=True, kw_only=True):
    """A run's state directory, as the box is to have it."""

    directory: Path
    #: Where the user's own state is, and the box has this one; maybe through links.
    place: str
    mounts: tuple[Mount, ...]
    #: What is not to be seen in the box, wherever a link in the user's directory leads.
    hidden: tuple[str, ...]
    #: Variables for the agent.
    env: Mapping[str, str]
    #: The login in it; None: there is none.
    login: Login | None = None


def own_state(run: Run, coder: Coder, env: Mapping[str, str], cwd: str) -> OwnState | None:
    """Make a run's state directory; `env` leads the CLI to the user's own. None: the coder names no
    state. Raises OSError.
    """
    named = coder.state_place(env)
    if not named:
        return None
    place = os.path.abspath(os.path.join(cwd, named))  # noqa: PTH100, PTH118
    state = state_directory(run)
    state.mkdir(mode=0o700)
    inside = AgentPlace(state)
    for name, data in coder.state_files(env, cwd).items():
        inside.write(name, data, durable=False)
    layout, is_lean = coder.state_layout, coder.options.context == "lean"
    theirs = AgentPlace(place)
    for pattern in () if is_lean else layout.copied:
        for entry in theirs.find(pattern):
            if entry.size <= _LARGEST:
                theirs.copy(entry.name, inside, entry.name, _LARGEST)
    login = box_login.read(coder, Path(place), env)
    if login is not None:
        box_login.put(coder, login, state)
    real, user = os.path.realpath(place), os.path.realpath(env.get("HOME") or "/")
    wanted = layout.required if is_lean else (*layout.required, *layout.config)
    mounts = [Mount(source=str(state), target=real, write=True)]
    for name in wanted:
        mounts += _mounts(real, name)
    for name in () if is_lean else layout.home_config:
        mounts += _mounts(user, name)
    is_home = coder.state_variable in ("", "HOME")
    return OwnState(
        directory=state,
        place=place,
        mounts=tuple(mounts),
        hidden=(f"{real}/{coder.login_file}",) if coder.login_file else (),
        env={**coder.boxed_env, **({} if is_home else {coder.state_variable: place})},
        login=login,
    )


def _mounts(root: str, name: str) -> Iterator[Mount]:
    """The mounts for one name of a layout, as far as it exists. A link is replaced by what it leads
    to: in the box it would lead nowhere.
    """
    is_folder, by_itself = name.endswith(("/", "/*")), name.endswith("/*")
    target = f"{root}/{name.removesuffix('*').rstrip('/')}"
    source = os.path.realpath(target)
    if not is_folder:
        if os.path.isfile(source):  # noqa: PTH113
            yield Mount(source=source, target=target)
        return
    try:
        with os.scandir(source) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    if not by_itself and not any(entry.is_symlink() for entry in found):
        yield Mount(source=source, target=target)
        return
    for entry in found:
        is_hidden = by_itself and entry.name.startswith(".")
        if not is_hidden and os.path.exists(entry.path):  # noqa: PTH110 - no link to nowhere
            yield Mount(source=os.path.realpath(entry.path), target=f"{target}/{entry.name}")
