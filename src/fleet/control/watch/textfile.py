"""The file that node_exporter's textfile collector reads."""

from pathlib import Path

from fleet.errors import BadInput
from fleet.files.atomic_write import write_atomically


def write_textfile(path: Path, text: bytes) -> None:
    """Replace the file in one step, readable for node_exporter, which is another user."""
    if path.suffix != ".prom":
        raise BadInput(f"node_exporter reads no {path.name}", hint="Name it so: fleet.prom")
    try:
        write_atomically(path.absolute(), text, 0o644, durable=False)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
