"""`fleet init`: make the home's directories, set up the queue, try a box and git, and write
runtime.toml.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct, structs

from fleet import config
from fleet.coders.agent_environment import plain_env
from fleet.config import Config, runtime_toml
from fleet.errors import FleetError, Refused
from fleet.files.atomic_write import write_atomically
from fleet.git.land.land_repository import is_new_enough
from fleet.home import Home, make_home
from fleet.processes.bounded_call import call
from fleet.queue import PREFIX, check_address, open_queue, without_password
from fleet.queue.protocol import Queue
from fleet.sandbox.try_box import BoxTrial, try_box
from fleet.schemas.policy import contradiction

PERMISSIONS = config.KEYS["permissions"]
SANDBOX = config.KEYS["sandbox"]
LAND = config.KEYS["land"]
WORK_IN = config.KEYS["work_in"]
_PATIENCE = 10.0
#: How many missing rights are named.
_NAMED = 4


class InitializedHome(Struct, frozen=True, kw_only=True):
    """What `fleet init` made or found."""

    #: The queue's address without its password.
    queue: str
    permissions: str
    sandbox: str
    work_in: str
    land: str
    #: Why a new home has no box, and what to do; empty if the home has one, or is not new.
    no_box: str = ""
    #: What a person should know of the installed `bd`; empty if nothing.
    warning: str = ""


def init(
    home: Home,
    *,
    queue: str | None,
    permissions: str | None,
    force: bool,
    ask: Callable[[], str],
    sandbox: str | None = None,
    work_in: str | None = None,
    land: str | None = None,
    ask_box: Callable[[], bool] = lambda: True,
    waiting: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> InitializedHome:
    """Make a home, or complete the one that is there.

    A home keeps its queue, its permissions, its box and its landing unless others are given. A new
    one gets a box where a box works, if `ask_box` agrees, and where not the permissions that `ask`
    returns. A new home works in clones, and accepted work lands where git is new enough.
    `force` sets up a queue of beads again, and `waiting` is held meanwhile. Raises FleetError if
    `sandbox` asks for what cannot be had.
    """
    # A broken runtime.toml is refused before anything is made.
    before = config.load(home.config) if home.config.exists() else None
    if queue is not None:
        check_address(queue)
    trial = try_box(os.environ) if _wants_trial(before, sandbox) else None
    if trial is not None and not trial.works and sandbox not in (None, "off"):
        raise FleetError(f"a sandbox cannot be had: {trial.problem}", hint=trial.fix)
    box = sandbox or (before.sandbox if before else _offered(trial, ask_box))
    place = work_in or (before.work_in if before else str(WORK_IN.default))
    if why := contradiction(place, box, pins=False):
        raise FleetError(why, hint="Give --work-in clone or --sandbox off.")
    make_home(home)
    chosen = queue or (before.queue if before else _best_queue())
    unasked = before.permissions if before else str(PERMISSIONS.default) if box != "off" else ""
    allowed = permissions or unasked or ask()
    settings = structs.replace(before or Config(), queue=chosen)
    lands = land or (before.land if before else "auto" if _git_can_land() else "branch")
    another = before is None or before.queue != chosen
    with waiting(f"setting up the queue ({without_password(chosen)})"):
        warning = _set_up_queue(home, settings, force=force, another=another)
    # Last, so that no runtime.toml names a queue that could not be opened.
    chosen_all = {
        "queue": chosen, "permissions": allowed, "sandbox": box, "work_in": place, "land": lands,
    }  # fmt: skip
    _record(home, before, chosen_all)
    return InitializedHome(
        queue=without_password(chosen),
        permissions=allowed,
        sandbox=box,
        work_in=place,
        land=lands,
        no_box="" if trial is None or trial.works else f"{trial.problem}. {trial.fix}",
        warning=warning or "",
    )


def _git_can_land() -> bool:
    """There is a git that can merge without a working tree."""
    git = shutil.which("git")
    if not git:
        return False
    said = call([git, "version"], env=plain_env(os.environ), timeout=_PATIENCE)
    return not said.problem and is_new_enough(said.text)


def _wants_trial(before: Config | None, sandbox: str | None) -> bool:
    return sandbox not in (None, "off") or (sandbox is None and before is None)


def _offered(trial: BoxTrial | None, ask_box: Callable[[], bool]) -> str:
    return "workspace" if trial is not None and trial.works and ask_box() else "off"


def _best_queue() -> str:
    return "beads" if shutil.which("bd") else "embedded"


def _set_up_queue(home: Home, settings: Config, *, force: bool, another: bool) -> str | None:
    """Make the queue, or open the one that is there.

    `another`: it is not the queue that the home had, so that a new one may be made beside tasks.
    """
    warning = None
    if settings.queue == "beads":
        from fleet.queue.beads.bd_cli.bd_client import BdClient, version_warning
        from fleet.queue.beads.bd_cli.bd_database import init_beads, refuse_wrong

        refuse_wrong(home.path)
        init_beads(home.path, prefix=PREFIX, force=force)
        warning = version_warning(BdClient(home.path).version)
    queue = open_queue(home.path, settings, may_make=another)
    try:
        return _check_role(queue) if settings.shares_queue else warning
    finally:
        queue.close()


def _check_role(queue: Queue) -> str | None:
    """Refuse a role that can neither work on a shared queue nor look at one; returns the warning
    about a role that can only look.
    """
    from fleet.queue.sql.postgres.role_rights import role_rights
    from fleet.queue.sql.sql_queue import SqlQueue

    assert isinstance(queue, SqlQueue)
    rights = role_rights(queue)
    if not rights.missing:
        return None
    lacks = ", ".join(rights.missing[:_NAMED])
    more = f" and {len(rights.missing) - _NAMED} more" if len(rights.missing) > _NAMED else ""
    if not rights.may_look:
        raise Refused(
            f"the role {rights.role} cannot use the queue: it lacks {lacks}{more}",
            hint="The owner of its database runs what this prints: fleet queue roles",
        )
    return (
        f"the role {rights.role} may look and not work: it lacks {lacks}{more}. For fleet run it"
        " has to be in the role fleet_host: fleet queue roles"
    )


def _record(home: Home, before: Config | None, chosen: Mapping[str, str]) -> None:
    """Write runtime.toml, or put what was chosen into the one that is there."""
    if before is None:
        text = config.default_text(**chosen, expect=config.KEYS["expect"].default)
        write_atomically(home.config, text.encode())
        return
    news = {name: value for name, value in chosen.items() if getattr(before, name) != value}
    if news:
        text = runtime_toml.changed(runtime_toml.read_text(home.config), news, home.config)
        write_atomically(home.config, text.encode())
