"""The `fleet` command. `fleet bd` goes its own short way: agents call it all the time."""

import sys


def load_msgspec() -> None:
    """Import msgspec without typing_extensions, which it takes where it finds it and does not
    need on any Python that fleet runs on: it costs more than a bare start of the interpreter.
    """
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
        import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]

        del sys.modules["typing_extensions"]


def main() -> None:
    load_msgspec()
    from fleet.errors import FleetError

    args = sys.argv[1:]
    debug = "--debug" in args[:1]
    if debug:
        args = args[1:]
    try:
        if args[:1] == ["bd"]:
            from fleet.cli.bd import bd

            code = bd(args[1:])
        else:
            from fleet.cli.quick import quickly

            quick = quickly(args)
            code = _by_click(args) if quick is None else quick
    except FleetError as error:
        if debug:
            raise
        print(f"Error: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; there is nobody left to tell
        code = 141
    sys.exit(code)


def _by_click(args: list[str]) -> int:
    from fleet.cli.root import fleet

    return fleet(args)


if __name__ == "__main__":
    main()
