"""What every test shares: how to ask for a tool that may be missing."""

import fcntl
import gc
import os
import shutil
import signal
import sys
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings

from tests.contract.postgres_server import (
    new_postgres_dsn,
    postgres_dsn,
    postgres_server,
    shared_database,
)
from tests.fake_keyring import FakeKeyring
from tests.memory_files import SHARED_MEMORY, enough_memory

__all__ = ["new_postgres_dsn", "postgres_dsn", "postgres_server", "shared_database"]

# A shell that runs us in the background has us ignore this, and all that we start would too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, lambda *_: None)  # nohup has us ignore this; what we start must not

# Hundreds of processes import fleet, and each test process all tests: compiled once is enough.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Thousands of tests are collected and none goes again: there is no garbage to look for until then.
gc.disable()

# bd lives for a moment each time: a fifth of it goes to collecting garbage unless we ask it not to.
os.environ |= {"GOGC": "off", "GOMEMLIMIT": "256MiB"}

# Tests leave 85,000 files, and a disk takes as long to remove them as to write them.
if "TMPDIR" not in os.environ and enough_memory(SHARED_MEMORY):
    os.environ["TMPDIR"] = SHARED_MEMORY
    tempfile.tempdir = None  # asked anew

# A machine that is busy elsewhere makes nothing wrong: no example has a time of its own to keep.
settings.register_profile("fleet", deadline=None)
settings.load_profile("fleet")

#: Folders whose tests start real processes.
LONG = ("real", "story", "hostile")

#: Tools that must be there: a missing one fails the test instead of skipping it. `all` is all.
REQUIRED = set(os.environ.get("FLEET_REQUIRE", "").replace(",", " ").split())

#: `make slow`: everything, also what is left to a sample or to a stand-in in every test run.
SLOW = bool(os.environ.get("FLEET_SLOW"))


def often(few: int, many: int) -> int:
    """How often to try something: few times in every test run, many in `make slow`."""
    return many if SLOW else few


#: What other tests show too, only dearer here.
only_slow = pytest.mark.skipif(not SLOW, reason="FLEET_SLOW is not set")


def coders(*always: str) -> pytest.MarkDecorator:
    """For these real CLIs in every run, and for both with FLEET_SLOW=1: what one of them shows of
    the supervisor the other shows again.
    """
    return pytest.mark.parametrize("coder", ("claude", "codex") if SLOW else always)


def need(tool: str) -> str:
    """The path of a tool; without it the test is skipped by name, or fails where CI demands it."""
    path = shutil.which(tool)
    if path is None:
        missing(tool)
    return str(path)


def missing(tool: str) -> None:
    if REQUIRED & {tool, "all"}:
        pytest.fail(f"{tool} is required here and missing")
    pytest.skip(f"{tool} is not installed")


def pytest_xdist_auto_num_workers() -> int:
    """Three for each core: most of what takes long waits for a process. Each more would collect
    all tests once more.
    """
    return 3 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its part of what takes long, module by module, so that at the end
    there are only short tests to share out: no worker waits long for the last one.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.path.parent.name in LONG]
    modules = list(dict.fromkeys(item.path for item in long))
    short = iter([item for item in items if item.path.parent.name not in LONG])
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        mine = set(modules[worker::workers])
        begins = [item for item in long if item.path in mine]
        # As many for each as the scheduler gives to each.
        share = (len(items) - len(ordered)) // (workers - worker)
        ordered += [*begins, *islice(short, max(0, share - len(begins)))]
    items[:] = [*ordered, *short]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """The first worker compiles the tests of a new clone, and the others take what it compiled:
    compiling is most of a collection.
    """
    with Path(__file__).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
            fcntl.flock(file, fcntl.LOCK_UN)
        return (yield)


def pytest_collection_finish() -> None:
    """From here on garbage is collected, among what the tests themselves make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A directory that all test processes of one run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def keyring(tmp_path, monkeypatch):
    """The keyring of this process and of those that it starts."""
    env = {}
    fake = FakeKeyring(tmp_path / "keyring", env)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return fake
