"""Keeps other processes of the same user from reading this one: memory and environment.

The supervisor's environment holds whatever its user exported, and its memory the secrets of every
account. Agents run as the same user, and `/proc/<pid>/environ` would tell them all of it. Root can
still read it.

A keeper stays readable: the brake and adoption find runs by the mark in their environments, also
where nothing but processes is left of a run. A keeper has the environment of its own agent, which
that agent can read anyway; what hides one agent from another is the box.
"""

import sys

#: The option of prctl(2), in every Linux since 2.3.
_PR_SET_DUMPABLE = 4


def refuse_dumps() -> bool:
    """Let no process of this user read or trace this one. False where the system cannot do that.

    A program that this process starts is not held to it: the kernel allows reading again with exec.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # costs a millisecond, and a supervisor alone asks for this

    return int(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)) == 0
