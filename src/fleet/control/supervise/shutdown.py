"""`fleet shutdown`: end the supervisor and the agents; their tasks go back into the queue."""

import time
from signal import SIGTERM

from fleet.config import Config, load
from fleet.errors import ConfigError, FleetError
from fleet.home import Home
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import Holder, supervisor_of

#: Seconds that the supervisor may take beyond the grace of its agents: it settles their tasks.
_PATIENCE = 45.0
#: Seconds between the two signals of `--now`, and between two looks.
_LOOK = 0.05


def shut_down(home: Home, *, now: bool = False) -> Holder:
    """End the supervisor, and wait until the process is gone; returns which supervisor ended.

    The supervisor stops its agents and gives their tasks back, as Ctrl-C does. `now`: a second
    signal, with which it kills them. A home whose settings cannot be read will do: a typing error
    must not keep agents running.
    """
    holder = supervisor_of(home)
    if holder is None:
        raise FleetError(
            f"no supervisor is running on {home.path}", hint="Nothing has to be ended."
        )
    for _ in range(2 if now else 1):
        if not process_identity.send(holder.who, SIGTERM):
            return holder  # the supervisor ended by itself meanwhile
        time.sleep(_LOOK)
    end = time.monotonic() + _grace(home) + _PATIENCE
    while process_identity.alive(holder.who):
        if time.monotonic() >= end:
            raise FleetError(
                f"the supervisor (process {holder.who.pid}) was told to end and has not yet",
                hint="To kill its agents too: fleet shutdown --now. What it waits for: fleet log 5",
            )
        time.sleep(_LOOK)
    return holder


def _grace(home: Home) -> float:
    try:
        return load(home.config).grace_s
    except ConfigError:
        return Config().grace_s
