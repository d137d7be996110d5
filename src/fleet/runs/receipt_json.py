"""`runs/<n>/receipt.json`: what fleet saw of a run."""

from msgspec import structs

from fleet.files.json_record import JsonRecord
from fleet.runs.run_directory import Run
from fleet.schemas import Receipt

FILE = "receipt.json"
_RECORD = JsonRecord(Receipt, limit=16 << 20)


def write(run: Run, receipt: Receipt) -> None:
    _RECORD.write(run.path / FILE, receipt)


def read(run: Run) -> Receipt | None:
    """The receipt; None if the run has none, or a damaged one."""
    receipt = _RECORD.read_or_none(run.path / FILE)
    if receipt is None or receipt.verdict is None or receipt.verdict.checked:
        return receipt
    # A receipt of an earlier version had one word for claims with and without a check.
    verdict = structs.replace(receipt.verdict, checked=receipt.checks_passed)
    return structs.replace(receipt, verdict=verdict)
