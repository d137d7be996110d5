"""What `fleet bd create` says of a task that no command checks, and the question for one; of a
repository that no clone can be made of; and of work that has no branch to land on.
"""

import os
import sys
from shlex import quote

from fleet.cli.terminal_text import folded
from fleet.control import Control
from fleet.control.edit_config import lacks, set_project_settings
from fleet.control.task_directory import FIRST_COMMIT
from fleet.control.verify_proposal import TriedProposal, is_first, tried, verify_proposal
from fleet.schemas import Settings
from fleet.schemas.shown_text import one_line

#: Set in every process of a run: an agent decides nothing about the checks of a project.
_RUN = "FLEET_RUN_DIR"


def tell_lacks(fleet: Control, settings: Settings) -> None:
    """One line on stderr for each thing that the task lacks: while it is easily mended."""
    if _RUN in os.environ:
        return
    found = lacks(fleet, settings)
    if found.unchecked:
        _tell_unchecked(fleet, settings, found.unchecked)
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


def _tell_unchecked(fleet: Control, settings: Settings, cost: str) -> None:
    """One line; or, on a terminal and once a project, a question."""
    cwd = settings.cwd or ""
    proposal = verify_proposal(cwd)
    if proposal is None:
        way = "--verify 'CMD' or: fleet config set --project . verify=…"
        _tell(f"no verify command: {cost}; {way}")
        return
    trial = tried(fleet, settings, proposal)
    words = f"`{one_line(proposal.command)}` ({one_line(proposal.found_in)}; {trial.said})"
    changes = [f"verify={proposal.command}", *(f"share+={path}" for path in proposal.share)]
    if _is_attended() and is_first(fleet, "asked", cwd):
        print(f"No verify command checks the tasks of {one_line(cwd)}: {cost}.", file=sys.stderr)
        if _says_yes(f"Check each with {words} from now on? [y/N] "):
            set_project_settings(fleet, cwd, changes)
            print(f"{one_line(', '.join(changes))}  [{one_line(cwd)}]", file=sys.stderr)
            if trial.passed is None:
                _tell_trial(tried(fleet, settings, proposal, agreed=True))
            return
    line = " ".join(map(quote, changes))
    way = f"--verify 'CMD' or {words}: fleet config set --project . {one_line(line)}"
    _tell(f"no verify command: {cost}; {way}")


def _tell_trial(trial: TriedProposal) -> None:
    """What a command came to that a person has just agreed to."""
    wait = "; tasks wait until it passes there" if trial.passed is False else ""
    _tell(f"`{one_line(trial.proposal.command)}` {one_line(trial.said)}{wait}")


def _tell(words: str) -> None:
    print(folded(words), file=sys.stderr)


def _is_attended() -> bool:
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _says_yes(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
