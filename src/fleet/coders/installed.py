"""Which coders can run on this machine: the program of each, the place, and the version."""

import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from fleet import coders
from fleet.coders.base import Coder
from fleet.errors import BadInput
from fleet.processes.cli_versions import VersionAnswer, asked
from fleet.schemas import Task


class CoderHere(Struct, frozen=True, kw_only=True):
    """One coder on this machine."""

    name: str
    #: Built in, a file, or a package.
    origin: str
    program: str = ""
    #: Where the program was found; empty: not found.
    path: str = ""
    version: str = ""
    #: Why the program, if there is one, told no version.
    remark: str = ""
    #: Why no task can be run with this coder here; empty if one can.
    problem: str = ""
    #: Tasks that name no coder get this one.
    default: bool = False

    @property
    def words(self) -> str:
        """Why no task can run with this coder here, or the version of the program."""
        unknown = "version unknown: the coder declares no version_args"
        return self.problem or self.version or self.remark or unknown


def coders_on(home: Path, default: str = "") -> list[CoderHere]:
    """Every coder of a home, fleet's own first, with the version that its program tells.

    A coder that cannot be loaded has a problem; so has a file with the name of a coder of fleet's
    own, which comes first.
    """
    broken = dict(coders.problems(home))
    found: list[CoderHere] = []
    asks: dict[str, tuple[list[str], Mapping[str, str]]] = {}
    # Each CLI gets an empty directory for its state: codex would make its home for the question,
    # and a person who never used codex would find one.
    with TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        for name in coders.names(home):
            here = CoderHere(name=name, origin=coders.origin(name, home), default=name == default)
            try:
                coder = coders.make(name, home=home)
            except BadInput as error:
                found.append(structs.replace(here, problem=broken.get(name, error.message)))
                continue
            try:
                program = program_of(coder, home)
            except BadInput as error:
                found.append(structs.replace(here, problem=error.message))
                continue
            path = os.path.abspath(there) if (there := shutil.which(program)) else ""  # noqa: PTH100
            problem = "" if path else f"{program} is not on PATH"
            found.append(structs.replace(here, program=program, path=path, problem=problem))
            if path and coder.version_args:  # any other argument could start its work
                state = coder.state_variable
                own = {state: empty} if state not in ("", "HOME") else {}
                asks[name] = ([path, *coder.version_args], {**os.environ, **own})
        answers = asked(asks)
    told = [(each, answers.get(each.name, VersionAnswer())) for each in found]
    hidden = [
        CoderHere(name=name, origin="hidden", problem=problem)
        for name, problem in broken.items()
        if coders.origin(name, home) == "built in"
    ]
    return [
        structs.replace(each, version=answer.version, remark=answer.problem)
        for each, answer in told
    ] + hidden


def program_of(coder: Coder, home: Path) -> str:
    """The program that a coder starts: `program`, or the first word of the command line. Raises
    BadInput where the coder cannot make one.
    """
    if coder.program:
        return coder.program
    now = datetime.now(UTC)
    task = Task(id="fleet-0", title="", created_at=now, updated_at=now, cwd=str(home))
    try:
        return str(coder.build_argv(task, home / "tasks" / task.id)[0])
    except Exception as error:  # code of users may raise anything
        why = f"its build_argv fails: {type(error).__name__}: {error}"
        raise BadInput(why, hint="Correct the coder, or set its `program`.") from error
