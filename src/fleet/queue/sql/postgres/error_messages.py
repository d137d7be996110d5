"""psycopg's errors in fleet's words. The password of an address is never part of a message."""

import re
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from fleet.errors import (
    BadInput,
    QueueBusy,
    QueueError,
    QueueReadOnly,
    QueueUnavailable,
    WriteBrokeOff,
)

_BAD_ADDRESS = (
    "Write it as postgresql://user:password@host:5432/database, with @ / : and % in the password"
    " written as %40 %2F %3A and %25."
)
#: How libpq names an option of an address that it does not know.
_UNKNOWN_OPTION = re.compile(r'invalid URI query parameter: "(\w+)"')
#: What the server says while it refuses a connection, and what to do about it. libpq hands
#: these over as text only.
_REFUSALS = (
    ("starting up", "Try again in a moment."),
    ("shutting down", "Try again once it is back; fleet connects again by itself."),
    ("password authentication failed", "Check the user and password of the queue's address."),
    ("no password supplied", "Put the password into the queue's address or into ~/.pgpass."),
    ("no pg_hba.conf entry", "The server does not let this user in from here: see pg_hba.conf."),
    ("role ", "Create the user on the server, or correct it in the queue's address."),
    ("database ", "Create it (createdb NAME), or correct the name in the queue's address."),
    (
        "not support SSL",
        "Switch TLS on at the server (ssl = on), or correct sslmode in the address.",
    ),
    ("root certificate file", "Correct sslrootcert in the queue's address."),
    ("certificate", "Check the host's name and sslrootcert in the queue's address."),
    ("failed to resolve host", "Correct the host's name in the queue's address."),
    ("too many", "Raise max_connections, or let fewer processes share the server."),
)


def address_of(dsn: str) -> str:
    """Where the queue is, to show to people: host, port and database."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        # psycopg's message quotes the address, and with it the password.
        why = f": {option}" if (option := _unknown_option(dsn, str(error))) else ""
        raise QueueUnavailable(
            f"the PostgreSQL address cannot be understood{why}", hint=_BAD_ADDRESS
        ) from None
    host, port, name = (str(parts.get(key) or "") for key in ("host", "port", "dbname"))
    # An unescaped @ or / in a password makes libpq take a part of it for one of these three.
    if "@" in host.lstrip("@") + name or port.strip("0123456789,"):
        raise QueueUnavailable("the PostgreSQL address names no usable host", hint=_BAD_ADDRESS)
    return f"{host or 'local'}{':' + port if port else ''}/{name or parts.get('user') or ''}"


def _unknown_option(dsn: str, said: str) -> str:
    """What libpq says of an option that it does not know; empty: the fault is another one, or what
    it takes for an option may be a part of the password.
    """
    found = _UNKNOWN_OPTION.search(said)
    in_password = "@" in dsn.partition("?")[2]
    return f"it has no option {found[1]}" if found and not in_password else ""


@contextmanager
def translated(address: str) -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise in_our_words(error, address) from error


def in_our_words(error: psycopg.Error, address: str) -> QueueError | BadInput:
    """The one table from what psycopg raises to what a person reads."""
    said = first_line(error)
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled() | errors.DeadlockDetected():
            return QueueBusy(
                f"the queue {address} was held by another process for too long: {said}",
                hint="Try again. Who holds it: SELECT * FROM pg_stat_activity",
            )
        case errors.DiskFull():
            return QueueUnavailable(
                f"the disk of the queue {address} is full: {said}",
                hint="Free some space on the server; what was acknowledged before is safe.",
            )
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            return QueueReadOnly(
                f"the queue {address} cannot be written: {said}",
                hint="Check that it is no standby, and the rights of the user: fleet queue roles."
                " Only the schema's owner makes and migrates it.",
            )
        case psycopg.IntegrityError():
            return QueueError(f"the queue refused an impossible row: {said}")
        case psycopg.DataError():
            return BadInput(f"the queue cannot store this value: {said}")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return QueueUnavailable(f"the queue {address} does not answer: {said}", hint=hint(said))
        case _:
            return QueueError(f"the queue failed: {type(error).__name__}: {said}")


def broke_off(address: str) -> WriteBrokeOff:
    """A connection was lost between a write and the answer."""
    return WriteBrokeOff(
        f"the connection to the queue {address} broke during a write",
        hint="It may or may not have been stored: look before you repeat it.",
    )


def first_line(error: psycopg.Error) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def hint(said: str) -> str:
    for text, advice in _REFUSALS:
        if text in said:
            return advice
    return "Check that the server runs and can be reached; fleet connects again by itself."
