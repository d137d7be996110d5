"""A host behind a slow link, which fetches a large repository for one of its tasks.

`FLEET_MIRROR_MB` is how large; the link is such that the fetch takes two minutes and more.
"""

import os
import subprocess
import time

import pytest

from fleet.queue.sql.hosts.host_table import hosts
from fleet.schemas.hosts.host import SILENT
from tests.conftest import missing, only_slow
from tests.machines.network import HUB, inside
from tests.repos import ENV, Repo

SIZE = int(os.environ.get("FLEET_MIRROR_MB", "40"))
#: Seconds that the fetch takes at least.
LASTS = 120
#: What is in the mirror of a fetch that is under way, or was cut off.
HALF = "mirrors/*/.git/objects/pack/tmp_*"
#: So many objects that git keeps them as one pack.
BLOBS = 160


@pytest.fixture
def served(cluster):
    """A repository of that size in the hub, and its address."""
    repo = Repo(cluster.root / "app")
    repo.git("config", "core.compression", "0")
    repo.git("config", "core.bigFileThreshold", "1m")
    for number in range(BLOBS):
        (repo.root / f"blob{number}").write_bytes(os.urandom((SIZE << 20) // BLOBS))
    subprocess.run(["git", "-C", repo.root, "add", "-A"], env=ENV, check=True, timeout=600)
    repo.commit("all of it")
    server = subprocess.Popen(
        inside(cluster.network.hub, "git", "daemon", f"--base-path={cluster.root}", "--export-all",
               f"--listen={HUB}", "--reuseaddr"),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    yield repo
    server.terminate()
    server.wait(30)


def slow_host(cluster):
    """A host whose link lets through so much that the fetch lasts."""
    host = cluster.host(lease_s=60, max_concurrent=2, work_in="directory")
    rate = SIZE * 8_400_000 // LASTS
    if not cluster.network.slow(host.number, rate):
        missing("tc with tbf")
    host.fleet("trust", "--remote", f"git://{HUB}/app")
    return host


@only_slow
@pytest.mark.timeout(1800)
def test_a_large_mirror_over_a_slow_link(cluster, served):
    """The host is heard of all the while, also by other tasks that it runs; a fetch that outlives
    its supervisor is waited for, and nothing is left of it but the mirror.
    """
    host = slow_host(cluster)
    origin = {"url": f"git://{HUB}/app", "commit": served.git("rev-parse", "HEAD")}
    first = host.supervise()
    cluster.until(lambda: [each for each in hosts(cluster.queue) if each.state == "up"])
    began = time.monotonic()
    large = cluster.add(
        "tool done end", cwd="/elsewhere", made_on="another", repository=origin, work_in="clone"
    )
    cluster.until(lambda: list(host.home.path.glob(HALF)), 120)
    host.kill(first)
    second = host.supervise()
    cluster.until(lambda: host.screen().count("takes part") == 2)

    gaps, others = [], []
    while cluster.queue.get(large).status != "closed":
        assert time.monotonic() - began < LASTS * 8, cluster.screens()
        (row,) = hosts(cluster.queue)
        gaps.append((cluster.queue.db.now() - row.seen_at).total_seconds())
        if not others or cluster.queue.get(others[-1]).status == "closed":
            others.append(cluster.add("tool done end"))
        time.sleep(0.5)
    lasted = time.monotonic() - began
    print(f"{SIZE} MB in {lasted:.0f} s; {len(others) - 1} other tasks; longest {max(gaps):.1f} s")
    assert lasted > LASTS
    assert max(gaps) < SILENT.total_seconds()
    assert len(others) > 5, "other tasks of the host go on"
    assert "is being fetched already" in host.screen()
    assert not list(host.home.path.glob(HALF))
    task = cluster.queue.get(large)
    assert task.attempts == 0
    assert second.poll() is None
