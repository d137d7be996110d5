"""The fleet that runs here, with all dependencies, as wheels for another machine.

Wheels are packed anew from the files that are installed, so that the other machine runs this very
code, and needs no package index if it is of the same kind.
"""

import re
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import Distribution, distribution
from pathlib import Path

from msgspec import Struct

import fleet
from fleet.errors import FleetError
from fleet.processes.own_distribution import (
    distribution_of,
    how_to_add,
    installed_extras,
    requirements,
)

#: Every file of a wheel has this time, so that the same code gives the same wheel.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PIP = "pip"


class OwnWheels(Struct, frozen=True, kw_only=True):
    """Wheels in a directory."""

    version: str
    #: Names the packed code: one digest for each content.
    digest: str
    files: tuple[Path, ...]
    #: Which optional parts of fleet are installed here.
    extras: tuple[str, ...]
    #: `name==version` of everything that fleet depends on here.
    pins: tuple[str, ...]


def pack(folder: Path, *, complete: bool) -> OwnWheels:
    """Pack fleet into a directory; `complete`: with all dependencies, and pip."""
    own = distribution_of("fleet")
    if own is None:
        raise FleetError(
            "this fleet is not installed, so that it cannot be packed",
            hint=f"Install it: {how_to_add('postgres')}",
        )
    extras = tuple(sorted({"postgres"} | installed_extras(own)))
    needed = _closure(own, extras)
    files = [_pack(own, _package_files(), folder)]
    if complete:
        files += [_pack(each, _installed_files(each), folder) for each in needed]
        pip = distribution_of(_PIP)
        files += [_pack(pip, _installed_files(pip), folder)] if pip is not None else []
    digest = sha256(b"".join(sha256(each.read_bytes()).digest() for each in files))
    return OwnWheels(
        version=own.version,
        digest=digest.hexdigest()[:12],
        files=tuple(files),
        extras=extras,
        pins=tuple(f"{each.name}=={each.version}" for each in needed),
    )


def can_be_complete() -> bool:
    """Whether all dependencies of fleet were installed in a way that tells their files."""
    own = distribution("fleet")
    return all(each.files is not None for each in _closure(own, ("postgres",)))


def _closure(own: Distribution, extras: Sequence[str]) -> list[Distribution]:
    """What fleet depends on and is installed here, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(own, frozenset(extras))]
    while waiting:
        of, wanted = waiting.pop()
        for name, more, only in requirements(of):
            each = distribution_of(name) if not only or only in wanted else None
            if each is None or (each.name.lower(), more) in seen:
                continue  # of a part that is not wanted, or for another system
            seen.add((each.name.lower(), more))
            found[each.name.lower()] = each
            waiting.append((each, more))
    return [found[key] for key in sorted(found)]


def _package_files() -> Iterator[tuple[str, Path]]:
    """Fleet's own files: in a checkout they are not where fleet is installed."""
    top = Path(fleet.__file__).parent
    for path in sorted(top.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"fleet/{path.relative_to(top).as_posix()}", path


def _installed_files(of: Distribution) -> Iterator[tuple[str, Path]]:
    """The files of a distribution below site-packages; programs are made anew."""
    for file in of.files or []:
        path = Path(str(of.locate_file(file)))
        inside = ".." not in file.parts and "__pycache__" not in file.parts
        if inside and not _is_metadata(file.parts) and path.is_file():
            yield file.as_posix(), path


def _is_metadata(parts: Sequence[str]) -> bool:
    return parts[0].endswith(".dist-info")


def _pack(of: Distribution, files: Iterator[tuple[str, Path]], folder: Path) -> Path:
    """Write one wheel: files, metadata, and the list of both."""
    tag, tags = _tags(of)
    stem = f"{re.sub(r'[-_.]+', '_', of.name)}-{of.version}"
    path = folder / f"{stem}-{tag}.whl"
    pure = "true" if tag.endswith("-none-any") else "false"
    said = [f"Root-Is-Purelib: {pure}", *(f"Tag: {each}" for each in tags)]
    metadata = {
        "METADATA": of.read_text("METADATA") or "",
        "WHEEL": "\n".join(("Wheel-Version: 1.0", "Generator: fleet", *said, "")),
        "entry_points.txt": of.read_text("entry_points.txt") or "",
    }
    record: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:

        def add(name: str, data: bytes) -> None:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)
            hashed = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{_quoted(name)},sha256={hashed},{len(data)}")

        for name, file in files:
            add(name, file.read_bytes())
        for name, text in metadata.items():
            if text:
                add(f"{stem}.dist-info/{name}", text.encode())
        record.append(f"{stem}.dist-info/RECORD,,\n")
        archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/RECORD", _EPOCH), "\n".join(record))
    return path


def _tags(of: Distribution) -> tuple[str, list[str]]:
    """The tag of a wheel's file name, and all tags that this one stands for."""
    lines = (of.read_text("WHEEL") or "").splitlines()
    tags = [line.partition(":")[2].strip() for line in lines if line.startswith("Tag:")]
    tags = [each for each in tags if each.count("-") == 2] or ["py3-none-any"]
    parts = zip(*(each.split("-") for each in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts), tags


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name
