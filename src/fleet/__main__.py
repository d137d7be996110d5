"""The `fleet` command. `fleet bd` and other frequent commands are run without click."""

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Any

#: Objects that are made before Python first looks for garbage: more than a short command makes,
#: since all that it loads is in use until it ends.
_BEFORE_COLLECTION = 50_000


class LateModule(ModuleType):
    """A module that is imported once a name is read that was not given beforehand."""

    def __init__(self, name: str, **given: Callable[..., Any]) -> None:
        super().__init__(name)
        vars(self).update(given)
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `__path__`: what an import statement reads of every module
            raise AttributeError(name)
        return getattr(self.load(), name)

    def load(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return import_module(self.__name__)

    def late(self, name: str) -> Callable[..., Any]:
        """A function of the module, which is imported by the first call."""

        def call(*args: Any, **named: Any) -> Any:
            return getattr(self.load(), name)(*args, **named)

        return call


def load_msgspec() -> None:
    """Import msgspec without what it imports and fleet seldom or never needs.

    The modules left out cost as much as the start of two Pythons: typing_extensions, which no
    Python that fleet runs on needs, is hidden from msgspec; JSON schemas and what the standard
    library's uuid and urllib import are loaded by their first use.
    """
    if "msgspec" in sys.modules:
        return
    for name in ("ipaddress", "msgspec.inspect"):
        if name not in sys.modules:
            LateModule(name)
    if "platform" not in sys.modules:
        LateModule("platform", system=lambda: os.uname().sysname)  # which uuid asks for
    schemas = LateModule("msgspec._json_schema")
    for name in ("schema", "schema_components"):
        setattr(schemas, name, schemas.late(name))
    hidden = "typing_extensions" not in sys.modules
    if hidden:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]

    if hidden:
        del sys.modules["typing_extensions"]


def open_output() -> None:
    """Print a letter that the terminal's encoding lacks as an escape instead of failing, and
    nowhere what goes to a stream that is closed (`>&-`).
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_unwritten() -> None:
    """Leave nothing that Python would try to write once more as the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    gc.set_threshold(_BEFORE_COLLECTION)
    open_output()
    load_msgspec()
    from fleet.errors import FleetError
    from fleet.processes.agent_identity import asked_by

    args = sys.argv[1:]
    debug = "--debug" in args[:1] and not asked_by()  # an agent is shown no code of fleet's
    if debug:
        args = args[1:]
    try:
        code = _answer(args)
        sys.stdout.flush()
    except FleetError as error:
        if debug:
            raise
        from fleet.cli.terminal_text import print_line
        from fleet.schemas.shown_text import harmless

        print_line(harmless(f"Error: {error.message}"), err=True)
        if error.hint:
            print_line(harmless(error.hint), err=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the process that read stdout has ended, and so may the one of stderr
        code = 141
    except OSError as error:  # a full disk, a missing file, a wrong owner or mode
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"Error: {where}{error.strerror or error}", file=sys.stderr)
        code = 1
    _drop_unwritten()
    gc.freeze()  # the process ends: its memory need not be searched for garbage
    sys.exit(code)


def _answer(args: list[str]) -> int:
    """Carry out a command line for the one who asks: an agent by way of the supervisor, a process
    inside of a run, or a person.
    """
    from fleet.processes.agent_identity import asked_by, give_up_changes
    from fleet.spool.inside_run import asked_inside_run

    if task := asked_by():
        give_up_changes()
        from fleet.cli.agent_line import carry_out

        return carry_out(args, task)
    inside = asked_inside_run(args, os.environ)
    return _as_person(args) if inside is None else inside


def _as_person(args: list[str]) -> int:
    if args[:1] == ["bd"]:
        from fleet.cli.tracker.bd import bd

        return bd(args[1:])
    from fleet.cli.fast_path import quickly

    quick = quickly(args)
    return _by_click(args) if quick is None else quick


def _by_click(args: list[str]) -> int:
    from fleet.cli.person_line import carry_out

    return carry_out(args)


if __name__ == "__main__":
    main()
