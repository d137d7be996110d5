"""The fleet that runs here as a wheel for another machine."""

import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import version

import pytest

from fleet.control.hosts.add import own_wheels


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return own_wheels.pack(tmp_path_factory.mktemp("wheels"), complete=False)


def test_the_wheel_holds_every_file_and_lists_it_with_its_hash(packed):
    """An installer refuses a wheel whose list is wrong, and half a fleet fails much later."""
    (path,) = packed.files
    assert path.name == f"fleet-{version('fleet')}-py3-none-any.whl"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        record = wheel.read(names[-1]).decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        for line in record[:-1]:
            name, hashed, size = line.split(",")
            data = wheel.read(name)
            digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            assert (f"sha256={digest}", str(len(data))) == (hashed, size)
        assert b"fleet.__main__:main" in wheel.read(f"{names[-1].split('/')[0]}/entry_points.txt")
    assert {"fleet/queue/sql/migrations/001_tasks.sql", "fleet/templates/PLAN.md"} <= set(names)
    assert not any(name.endswith(".pyc") for name in names)


def test_what_fleet_depends_on_is_followed_with_its_optional_parts(packed):
    """Psycopg alone does not connect: its binary part is asked for by an extra of an extra."""
    pins = {pin.partition("==")[0].lower() for pin in packed.pins}
    assert {"click", "msgspec", "apsw", "psycopg", "psycopg-binary"} <= pins
    assert "pytest" not in pins


def test_the_same_code_gives_the_same_wheel(packed, tmp_path):
    """Its digest names the place there: a second `host add` finds it installed."""
    assert own_wheels.pack(tmp_path, complete=False).digest == packed.digest
