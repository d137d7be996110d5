"""The limit of open files, which the supervisor raises for itself."""

import resource

#: Open files that the supervisor may need: enough for as many runs as can be configured.
_WANTED = 4096


def allow_files() -> None:
    """Raise the limit of open files: each run takes one, and many systems begin with 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
