"""`runs/<n>/receipt.json`: what fleet saw of a run."""

from fleet.files.seals import SealedRecord
from fleet.runs.run_directory import Run
from fleet.schemas import Receipt, typed

FILE = "receipt.json"
_RECORD = SealedRecord(FILE, Receipt, limit=16 << 20)


def write(run: Run, receipt: Receipt, *, sealed: bytes = b"") -> None:
    """Write the receipt; `sealed` is the encoded receipt if sealed with the outcome that is written
    next, which makes the names of both durable.
    """
    _RECORD.write(run.path, receipt, run.number, named=not sealed, sealed=sealed)


def read(run: Run) -> Receipt | None:
    """The receipt; None if the run has none, or a damaged one."""
    return _RECORD.read(run.path)


def decode(data: bytes) -> Receipt:
    """A receipt that another host sent. Raises msgspec.MsgspecError."""
    return typed.decode(data, Receipt)
