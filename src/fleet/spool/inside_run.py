"""A `fleet` that an agent calls past the one of the run goes the way of every other request of that
agent.

The marks of the processes above decide, since fleet started them and no agent can change them;
what the environment says counts for nothing.
"""

import os
from collections.abc import Mapping, Sequence

from fleet.errors import FleetError, Refused
from fleet.home import home_from, owner_file
from fleet.processes import process_identity
from fleet.runs.run_id import RunId, find_run
from fleet.spool import client


def asked_inside_run(args: Sequence[str], env: Mapping[str, str]) -> int | None:
    """Have the supervisor answer a line of a process inside of a run of this home; returns the exit
    code. Raises Refused if that run is gone.

    None: the process is in no such run, so that a person asks, or a command of a person's.
    """
    try:
        home = home_from(env)
        owner = owner_file.read(home)
    except FleetError:
        return None
    marks = map(RunId.parse, process_identity.marks_above(os.getppid()))
    ours = [mark for mark in marks if mark is not None and mark.owner == owner]
    if not ours:
        return None
    run = find_run(home, ours[-1])
    if run is None:
        raise Refused(
            f"this process belongs to a run of {ours[-1].task} that is gone",
            hint="What is left of a run can do nothing more.",
        )
    return client.ask(str(run.spool), ["fleet", *args])
