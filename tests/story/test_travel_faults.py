"""Two homes on one PostgreSQL queue, and what can befall the code between them: the task is never
blocked for it, nothing is lost, and it goes on once that is mended.
"""

import os
import shutil
import subprocess
import time

import psycopg
import pytest

from tests.conftest import missing, only_slow
from tests.story.test_travel import COMMITTED, create, hosts

__all__ = ["hosts"]

#: Holds a push up for as long as a file is there.
SLOW_HOOK = """#!/bin/sh
while [ -e "{flag}" ]; do touch "{begun}"; sleep 0.05; done
"""


def said(host, text, action="released"):
    return [line for line in host.log(action) if text in line["text"]]


@only_slow
def test_a_repository_that_vanished_puts_the_task_back_and_blocks_nothing(hosts):
    """Once it is there again the task runs; until then it waits with the reason."""
    alpha, beta = hosts
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    away = alpha.bare.root.with_name("away")
    alpha.bare.root.rename(away)
    beta.supervise()
    beta.until(lambda: said(beta, "cannot be fetched"))
    assert beta.status(task_id) == "open"
    assert beta.task(task_id).attempts == 0
    away.rename(alpha.bare.root)
    beta.does("retry", task_id)
    beta.until(lambda: beta.task(task_id).waits_to_land)


def test_a_commit_that_vanished_is_declined_and_runs_where_it_was_made(hosts):
    """No mirror can have it; the directory of the host that made the task does."""
    alpha, beta = hosts
    alpha.repo.commit("second", more="1\n")
    alpha.repo.git("push", "-q", "origin", "main")
    task_id, _ = create(alpha)
    alpha.bare.git("update-ref", "refs/heads/main", "main~1")
    alpha.bare.git("reflog", "expire", "--expire=now", "--all")
    alpha.bare.git("gc", "-q", "--prune=now")
    beta.supervise()
    beta.until(lambda: said(beta, "does not have the commit"))
    assert beta.status(task_id) == "open"
    alpha.script(task_id, COMMITTED.format(name="made-on-alpha"))
    alpha.supervise("--until-idle")
    alpha.until_status(task_id, "closed")
    assert alpha.repo.git("show", "main:made-on-alpha") == "new"


@only_slow
def test_a_disk_that_is_full_while_fetching_stops_the_host_for_a_while(hosts):
    """The task goes back, the host says why it starts nothing, and what was fetched in vain takes
    no room: with more of it the same fetch goes well.
    """
    if os.geteuid() != 0:
        missing("root (for a small disk)")
    alpha, beta = hosts
    alpha.repo.put("large", os.urandom(3 << 20).hex())
    alpha.repo.commit("a large file", **{f"small{n}": f"{n}\n" for n in range(120)})
    alpha.repo.git("push", "-q", "origin", "main")
    (mirrors := beta.home.path / "mirrors").mkdir()
    small = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mirrors]
    if subprocess.run(small, capture_output=True, check=False).returncode:
        missing("tmpfs")
    try:
        task_id, _ = create(alpha)
        beta.script(task_id, COMMITTED.format(name="made-on-beta"))
        beta.supervise()
        beta.until(lambda: said(beta, "No space left on device", "short"))
        assert beta.status(task_id) == "open"
        beta.until(lambda: shutil.disk_usage(mirrors).free > 1 << 20)
        subprocess.run(["mount", "-o", "remount,size=64m", mirrors], check=True)
        beta.does("retry", task_id)
        beta.until(lambda: beta.task(task_id).waits_to_land)
    finally:
        beta.close()
        subprocess.run(["umount", "-l", mirrors], check=True)


@pytest.mark.parametrize("where", ["the repository", pytest.param("the queue", marks=only_slow)])
def test_a_host_killed_while_it_sends_its_results_sends_them_again(hosts, where):
    """The task is settled once, and only after both have all of it."""
    alpha, beta = hosts
    flag, begun = beta.home.path / "hold", beta.home.path / "begun"
    hook = alpha.bare.root / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(SLOW_HOOK.format(flag=flag, begun=begun))
    hook.chmod(0o755)
    alpha.configure(land="branch", work_in="clone")
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    with psycopg.connect(beta.settings["queue"]) as other:
        if where == "the repository":
            flag.touch()
        else:
            other.execute("LOCK TABLE fleet.run_files IN EXCLUSIVE MODE")
            begun.touch()
        first = beta.supervise()
        stage = beta.home.path / "tasks" / task_id / "runs" / "1" / "outcome.json"
        beta.until(lambda: begun.exists() and stage.exists())
        beta.kill(first)
        assert beta.status(task_id) == "in_progress"
        flag.unlink(missing_ok=True)
        other.rollback()
    beta.supervise("--until-idle")
    assert beta.until_status(task_id, "closed").runs == 1
    assert alpha.bare.git("show", f"refs/fleet/{task_id}/1:made-on-beta") == "new"
    assert "+new" in alpha.does("task", task_id, "diff")
    assert alpha.does("task", task_id, "events").count("fleet_ended") == 1


def test_pinned_files_are_as_the_first_run_found_them_on_whatever_host(hosts):
    """The first run weakens the check on one host; the second is judged by the old one on the
    other.
    """
    alpha, beta = hosts
    alpha.repo.commit("a check", tests__check="test -e proof\n")
    alpha.repo.git("push", "-q", "origin", "main")
    alpha.does("config", "set", "--project", str(alpha.repo.root), "verify=sh tests/check")
    steps = "tool script ask:which? end | tool script done end"
    task_id, _ = create(alpha, "--pin", "tests", steps=steps)
    beta.script(task_id, "echo true > tests/check; " + COMMITTED.format(name="one"))
    beta.until_ended(beta.supervise("--until-idle"))
    assert alpha.bare.git("show", f"refs/fleet/{task_id}/1:tests/check") == "true"
    alpha.does("answer", task_id, "the first")
    alpha.script(task_id, COMMITTED.format(name="two"))
    alpha.supervise("--until-idle")
    alpha.until(lambda: alpha.task(task_id).attempts or alpha.status(task_id) == "blocked")
    receipt = alpha.does("task", task_id, "receipt", "--json")
    assert '"tests/check"' in receipt
    assert alpha.status(task_id) != "closed"


@only_slow
def test_a_slow_mirror_keeps_no_heartbeat_waiting(hosts, tmp_path):
    """A fetch over a thin line takes minutes: the host is heard of all the while, keeps its lease,
    and runs other tasks.
    """
    alpha, beta = hosts
    alpha.repo.put("large", os.urandom(2 << 20).hex())
    alpha.repo.commit("a large file", more="1\n")
    alpha.repo.git("push", "-q", "origin", "main")
    thin = tmp_path / "thin-line"
    thin.write_text(THIN_LINE)
    thin.chmod(0o755)
    url = f"ssh://thin{alpha.bare.root}"
    beta.env["GIT_SSH_COMMAND"] = str(thin)
    beta.does("trust", "--remote", url)
    alpha.repo.git("remote", "set-url", "origin", url)
    alpha.does("trust", "--remote", str(alpha.repo.root))
    alpha.configure(land="branch", work_in="clone")
    beta.configure(lease_s=30)
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.supervise("--until-idle")
    beta.until(lambda: beta.task(task_id).lease_owner == beta.me)
    gaps, began = [], time.monotonic()
    while beta.status(task_id) == "in_progress" and time.monotonic() - began < 240:
        rows = beta.queue.db.rows("SELECT seen_at FROM hosts WHERE id = :id", {"id": beta.me})
        gaps.append(beta.queue.db.now().timestamp() - rows[0][0] / 1e6)
        time.sleep(0.5)
    assert time.monotonic() - began > 30, "longer than the lease"
    assert max(gaps) < 35
    task = beta.until_status(task_id, "closed")
    assert (task.runs, task.fence) == (1, 1)


#: In place of ssh: git's program there, through a line of 64 KB a second.
THIN_LINE = """#!/usr/bin/env python3
import os, subprocess, sys, threading, time
there = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def forth():
    while data := os.read(0, 65536):
        there.stdin.write(data)
        there.stdin.flush()
    there.stdin.close()
threading.Thread(target=forth, daemon=True).start()
while data := os.read(there.stdout.fileno(), 3200):
    os.write(1, data)
    time.sleep(0.05)
sys.exit(there.wait())
"""
