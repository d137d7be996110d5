"""Programs that are asked: what they say is bounded in time and size, and nothing is left."""

import sys
import time

from fleet.processes import process_identity
from fleet.processes.bounded_call import hear, talking


def python(code):
    return [sys.executable, "-I", "-S", "-c", code]


def gone(pid):
    """It is no more, or nobody has buried it yet; a signal takes a moment."""
    until = time.monotonic() + 10
    while (row := process_identity.identify(pid)) is not None and time.monotonic() < until:
        time.sleep(0.01)
    return row is None


def test_a_program_is_heard_to_its_end():
    """Both of its streams, and how it ended."""
    heard = hear(
        python("import sys; print(1); print(2, file=sys.stderr); sys.exit(3)"), patience=10
    )
    assert (heard.code, heard.out, heard.err, heard.problem) == (3, "1\n", "2\n", "")


def test_one_that_hangs_is_ended():
    """With a word on it, and what it had said."""
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    begun = time.monotonic()
    heard = hear(python(code), patience=0.5)
    assert heard.problem == "did not answer within 0.5 s"
    assert time.monotonic() - begun < 10
    assert gone(int(heard.out))


def test_one_that_floods_is_ended():
    """No more is kept than was asked for."""
    heard = hear(python("while True: print('x' * 1000)"), patience=20, most=100_000)
    assert heard.problem == "does not stop printing"
    assert len(heard.out) < 300_000


def test_one_that_leaves_somebody_behind_with_its_pipes_is_not_waited_for():
    """Who holds them dies with the group."""
    code = (
        "import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\nelse: time.sleep(60)\n"
    )
    begun = time.monotonic()
    heard = hear(python(code), patience=30)
    assert (heard.code, heard.problem) == (0, "")
    assert time.monotonic() - begun < 10
    assert gone(int(heard.out))


def test_what_cannot_be_started_says_why():
    """Neither a missing program nor a directory is a crash."""
    assert "cannot be started" in hear(["/no/such/program"], patience=1).problem
    assert "cannot be started" in hear(["/"], patience=1).problem


def test_one_that_a_signal_ended_has_no_code():
    """Which is not the code of a program that ended well."""
    heard = hear(python("import os; os.kill(os.getpid(), 9)"), patience=10)
    assert heard.code is None


def test_lines_are_talked():
    """One that answers, until it does not."""
    code = "import sys\nfor line in sys.stdin: print(line.strip() * 2, flush=True)"
    with talking(python(code), patience=10) as talk:
        assert talk.say(b"ab")
        assert talk.line() == b"abab"
        assert talk.say(b"c")
        assert talk.line() == b"cc"


def test_one_that_does_not_answer_a_line_gives_none():
    """In time; and one that is gone is not spoken to."""
    with talking(python("import time; time.sleep(60)"), patience=0.3) as talk:
        assert talk.line() is None
    with talking(python("import os; os.kill(os.getpid(), 9)"), patience=10) as talk:
        assert talk.line() is None
        said = [talk.say(b"x" * 100_000) for _ in range(3)]
        assert not said[-1]


def test_a_line_without_end_gives_none():
    """It is not kept either."""
    code = "import sys\nwhile True: sys.stdout.write('x' * 10000)"
    with talking(python(code), patience=20, most=100_000) as talk:
        assert talk.line() is None
