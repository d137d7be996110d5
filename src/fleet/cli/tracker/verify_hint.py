"""What `fleet bd create` says of a task that no command checks, and the question for one; of a
repository that no clone can be made of; and of work that has no branch to land on.
"""

import os
import sys
from shlex import quote

from fleet.cli.terminal_text import folded
from fleet.control import Control
from fleet.control.edit_config import (
    is_first_proposal,
    lacks,
    set_project_settings,
    verify_proposal,
)
from fleet.control.task_directory import FIRST_COMMIT
from fleet.schemas import Settings
from fleet.schemas.shown_text import one_line

#: Set in every process of a run: an agent decides nothing about the checks of a project.
_RUN = "FLEET_RUN_DIR"


def tell_lacks(fleet: Control, settings: Settings) -> None:
    """One line on stderr for each thing that the task lacks: while it is easily mended."""
    if _RUN in os.environ:
        return
    found = lacks(fleet, settings)
    if found.verify:
        _tell_unchecked(fleet, settings.cwd or "")
    if found.commit:
        _tell(
            f"{one_line(found.commit)} has no commit yet, and agents begin from one: {FIRST_COMMIT}"
        )
    if found.branch:
        cwd = one_line(settings.cwd or "")
        way = "fleet config set --project DIR land_into=BRANCH"
        _tell(
            f"{cwd} has no branch checked out: finished work would wait until you name one ({way})"
        )


def _tell_unchecked(fleet: Control, cwd: str) -> None:
    """One line; or, on a terminal and once a project, a question."""
    proposal = verify_proposal(cwd)
    if proposal is not None and _is_attended() and is_first_proposal(fleet, cwd):
        command, place = one_line(proposal.command), one_line(proposal.found_in)
        print(f"No verify command checks the tasks of {one_line(cwd)}.", file=sys.stderr)
        if _says_yes(f"Check each with `{command}` ({place}) from now on? [y/N] "):
            set_project_settings(fleet, cwd, [f"verify={proposal.command}"])
            print(f"verify = {command}  [{one_line(cwd)}]", file=sys.stderr)
            return
    verify = quote(f"verify={proposal.command}") if proposal else "verify=…"
    way = f"--verify 'CMD' or: {one_line(f'fleet config set --project . {verify}')}"
    _tell(f"no verify command: the work stays unchecked; {way}")


def _tell(words: str) -> None:
    print(folded(words), file=sys.stderr)


def _is_attended() -> bool:
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _says_yes(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
