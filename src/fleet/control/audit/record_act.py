"""Records an act however it ends: done, refused, broken off. Every surface records here, and once:
the command line each line that a person typed, any other surface each act of the table.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from shlex import join

from fleet.control.audit.audit_log import record
from fleet.errors import FleetError
from fleet.home import Home, home_from


class ActRecorder:
    """An act under way: what the audit will say of it."""

    def __init__(
        self,
        verb: str,
        line: str,
        *,
        surface: str,
        session: str = "",
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.line = line
        #: The task, once it is known.
        self.task = ""
        #: How the act ends, where it raises nothing.
        self.end = "done"
        #: Why the act could not be recorded; empty: it was.
        self.unrecorded = ""
        self._verb, self._surface, self._session, self._env = verb, surface, session, env

    @contextmanager
    def recording(self, home: Callable[[], Home]) -> Generator[None]:
        """Record what is done in here. `home` is asked afterwards: `fleet init` makes it."""
        try:
            yield
        except FleetError as error:
            self.end = f"refused: {error.message}"
            raise
        except BaseException:
            self.end = "broken off"
            raise
        finally:
            with suppress(FleetError):
                self._write(home())

    def _write(self, home: Home) -> None:
        if home.path.is_dir():
            self.unrecorded = record(
                home, surface=self._surface, session=self._session, verb=self._verb,
                task=self.task, line=self.line, end=self.end, env=self._env,
            )  # fmt: skip


def recorded_line(
    args: Sequence[str], work: Callable[[], int], env: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """Carry out a command line of a person's and record it. The exit code, and why it could not be
    recorded. Raises what the work raises, and that is recorded too.
    """
    verb = " ".join(args[:2]) if args[:1] == ["bd"] else args[0]
    noted = ActRecorder(verb, join(["fleet", *args]), surface="cli", env=env)
    with noted.recording(lambda: home_from(env)):
        code = work()
        if code:
            noted.end = f"exit code {code}"
    return code, noted.unrecorded
