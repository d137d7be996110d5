"""The libraries of the page are committed as they were built, and nothing else."""

import hashlib
from pathlib import Path

import pytest

VENDOR = Path(__file__).parents[3] / "src/fleet/web/static/vendor"
BUILDER = Path(__file__).parents[3] / "tools/vendor-js"

#: What each file says of itself on top, and its SHA-256. `tools/vendor-js` prints the digests.
FILES = {
    "preact.js": (
        "preact 11.2.0, @preact/signals 2.11.4, htm 3.1.1",
        "5773e4e100edad3e2487fc84adf2b65e1bc856bd282b5cf39d5b2db96cae9294",
    ),
    "uplot.js": (
        "uplot 1.6.32",
        "4608e89d42026cc433da614e9bc2c213cd3e73a6e48e13cf5e9d254e2760ec92",
    ),
    "uplot.css": (
        "uplot 1.6.32",
        "3a5788b36509c708c2f1b79860562b57fef4e7147a495816f6c37213a05b7a79",
    ),
    "dagre.js": (
        "@dagrejs/dagre 3.1.3",
        "fbe72a6f2d690e16909298a84a689ebc92aa49455078f69b9b0479bfa44eb2fc",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_library_is_the_version_that_was_built(name):
    """A file that was swapped would run in every browser, with the session key."""
    versions, digest = FILES[name]
    content = (VENDOR / name).read_bytes()
    assert content.startswith(f"/*! {versions}".encode())
    assert hashlib.sha256(content).hexdigest() == digest


def test_every_library_is_named_and_can_be_built_anew():
    """An unnamed file has no version that a reader could look up."""
    assert {path.name for path in VENDOR.iterdir() if not path.name.endswith(".d.ts")} == set(FILES)
    builder = BUILDER.read_text("utf-8")
    for versions, _ in FILES.values():
        for library in versions.split(", "):
            name, version = library.rsplit(" ", 1)
            assert f"={version}\n" in builder, f"tools/vendor-js builds another {name}"


def test_licences_stand_on_top():
    """MIT and Apache ask for their text to go with every copy."""
    for name in ("preact.js", "uplot.js", "dagre.js"):
        head = (VENDOR / name).read_text("utf-8").split("*/", 1)[0]
        assert "Permission is hereby granted" in head
    assert "Apache License" in (VENDOR / "preact.js").read_text("utf-8").split("*/", 1)[0]
