"""Jobs beside the loop: done elsewhere, delivered in the loop's thread."""

import select
import subprocess
import sys
import threading

import pytest

from fleet.supervisor.worker_pool import WorkerPool


def deliver(pool, count, results):
    while len(results) < count:
        assert select.select([pool], [], [], 10)[0]
        pool.deliver()


def test_a_result_comes_in_the_thread_of_the_loop():
    """The job ran in another one."""
    pool, results = WorkerPool(), []
    pool.submit(threading.get_ident, lambda where: results.append((where, threading.get_ident())))
    deliver(pool, 1, results)
    ((job, done),) = results
    assert job != threading.get_ident() == done
    assert pool.pending == 0


def test_a_slow_job_does_not_hold_up_the_others():
    """There are several threads."""
    pool, results, let_go = WorkerPool(size=2), [], threading.Event()
    pool.submit(lambda: let_go.wait(10), results.append)
    pool.submit(lambda: "quick", results.append)
    deliver(pool, 1, results)
    assert results == ["quick"]
    let_go.set()
    deliver(pool, 2, results)
    assert results == ["quick", True]


def test_more_jobs_than_threads_are_all_done():
    """Jobs that wait are not forgotten."""
    pool, results = WorkerPool(size=2), []
    for number in range(50):
        pool.submit(lambda number=number: number, results.append)
    deliver(pool, 50, results)
    assert sorted(results) == list(range(50))


def test_an_exception_is_raised_in_the_loop():
    """A defect must not vanish in a thread."""
    pool = WorkerPool()
    pool.submit(lambda: 1 / 0, print)
    assert select.select([pool], [], [], 10)[0]
    with pytest.raises(ZeroDivisionError):
        pool.deliver()


def test_a_stuck_job_does_not_keep_the_process_from_ending():
    """A supervisor that is told to end does not wait for its workers."""
    code = (
        "import threading\n"
        "from fleet.supervisor.worker_pool import WorkerPool\n"
        "begun = threading.Event()\n"
        "pool = WorkerPool()\n"
        "pool.submit(lambda: (begun.set(), threading.Event().wait()), print)\n"
        "begun.wait(10)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0
