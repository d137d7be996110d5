"""How much smaller a run's first request is in each context, with the real CLIs,
through `fleet run`.

The user has three skills, a plugin, an MCP server with eight tools and rules; the project has two
skills, a server and rules. What a request holds is paid for, or read from a cache, at every turn.
"""

import shutil
from collections.abc import Iterator

from tests.bench import Figure
from tests.real.agents import CACHE
from tests.real.loaded import asked

_GOALS = {"claude": {"project": 1.0, "lean": 0.3}, "codex": {"project": 1.0, "lean": 0.6}}


def figures() -> Iterator[Figure]:
    for cli, goals in _GOALS.items():
        if not (shutil.which(cli, path=str(CACHE / "node_modules/.bin")) or shutil.which(cli)):
            continue
        full = asked(cli, "full")
        for context, goal in goals.items():
            request = asked(cli, context)
            detail = (
                f"{request.size / 1000:.1f} kB and {len(request.tools)} tools,"
                f" full {full.size / 1000:.1f} kB and {len(full.tools)}"
            )
            yield Figure(
                f"{cli}: first request, {context} against full", request.size / full.size, goal,
                at_most=True, detail=detail,
            )  # fmt: skip
