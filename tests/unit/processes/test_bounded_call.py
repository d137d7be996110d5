"""Bounded calls: programs that end, hang, flood and leave processes behind."""

import os
import signal
import sys
import time

import pytest

from fleet.processes import process_identity
from fleet.processes.bounded_call import CallFailed, Exited, call, dialogue


def python(code):
    return [sys.executable, "-I", "-S", "-c", code]


def gone(pid):
    """The process has ended, perhaps after a moment: a signal takes some time."""
    until = time.monotonic() + 10
    while (row := process_identity.identify(pid)) is not None and time.monotonic() < until:
        time.sleep(0.01)
    return row is None


FORKS = "import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\nelse: time.sleep(60)\n"


def test_a_program_that_ends_gives_code_and_both_streams():
    """Code, output as bytes and text, and errors as text."""
    result = call(
        python("import sys; print(1); print(2, file=sys.stderr); sys.exit(3)"), timeout=10
    )
    assert result == Exited(code=3, out=b"1\n", err="2\n")
    assert (result.text, result.problem) == ("1\n", "")


@pytest.mark.parametrize("given", [b"a\nb", b"x" * 300_000])
def test_a_program_reads_what_it_is_given(given):
    """More than a pipe holds as well as little."""
    code = "import sys; sys.stdout.write(str(len(sys.stdin.read())))"
    assert call(python(code), timeout=10, stdin=given).out == str(len(given)).encode()


def test_environment_and_directory_are_the_callers(tmp_path):
    """Nothing else is passed on."""
    code = "import os; print(os.getcwd(), os.environ.get('A'), os.environ.get('HOME'))"
    result = call(python(code), timeout=10, env={"A": "b"}, cwd=tmp_path)
    assert result.text.split() == [str(tmp_path.resolve()), "b", "None"]


def test_a_program_that_hangs_is_killed():
    """What it had printed is kept."""
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    begun = time.monotonic()
    result = call(python(code), timeout=0.5)
    assert isinstance(result, CallFailed)
    assert (result.fault, result.problem) == ("timeout", "did not answer within 0.5 s")
    assert result.code is None
    assert time.monotonic() - begun < 10
    assert gone(int(result.text))


def test_a_program_that_floods_is_killed():
    """No more is kept than the limit."""
    result = call(python("while True: print('x' * 1000)"), timeout=20, limit=100_000)
    assert (result.fault, result.problem) == ("flood", "does not stop printing")
    assert len(result.out) == 100_000


def test_a_flood_of_errors_keeps_its_end_only():
    """The reason stands there, and memory is bounded."""
    code = "import sys; sys.stderr.write('x' * 1_000_000 + 'why'); sys.exit(1)"
    result = call(python(code), timeout=20)
    assert result.code == 1
    assert result.err.endswith("why")
    assert len(result.err) == 64 << 10


def test_a_sink_takes_the_output_up_to_the_limit():
    """The result holds none of it."""
    pieces: list[bytes] = []
    result = call(python("print('x' * 99)"), timeout=10, sink=pieces.append)
    assert result == Exited(code=0, out=b"", err="")
    assert b"".join(pieces) == b"x" * 99 + b"\n"
    pieces.clear()
    call(python("print('x' * 99)"), timeout=10, sink=pieces.append, limit=10)
    assert b"".join(pieces) == b"x" * 10


def test_a_child_that_holds_the_pipes_is_not_waited_for_and_is_killed():
    """The call ends with the program, and its process group with the call."""
    begun = time.monotonic()
    result = call(python(FORKS), timeout=30)
    assert result.code == 0
    assert time.monotonic() - begun < 10
    assert gone(int(result.text))


def test_a_child_is_left_alive_where_the_caller_says_so():
    """But not if the program itself was killed at a bound."""
    left = int(call(python(FORKS), timeout=30, leave_children=True).text)
    assert process_identity.identify(left) is not None
    os.kill(left, signal.SIGKILL)
    hangs = call(python(f"{FORKS}if pid: time.sleep(60)"), timeout=0.5, leave_children=True)
    assert gone(int(hangs.text))


def test_a_sink_that_raises_ends_the_program():
    """A full disk of the caller leaves no process behind."""

    def full(data: bytes) -> None:
        raise OSError(28, data.decode())

    with pytest.raises(OSError) as error:
        call(python(FORKS), timeout=30, sink=full)
    assert gone(int(error.value.strerror))


@pytest.mark.parametrize("program", ["/no/such/program", "/", "a\0b"])
def test_a_program_that_cannot_be_started_says_why(program):
    """Neither a missing program nor a directory is a crash."""
    result = call([program], timeout=1)
    assert isinstance(result, CallFailed)
    assert result.problem.startswith("cannot be started: ")
    assert isinstance(result.error, OSError | ValueError)


def test_the_code_of_a_signal_is_its_negative_number():
    """Which no program that ended well has."""
    assert call(python("import os; os.kill(os.getpid(), 9)"), timeout=10).code == -9


def test_lines_are_talked():
    """One that answers, until it does not."""
    code = "import sys\nfor line in sys.stdin: print(line.strip() * 2, flush=True)"
    with dialogue(python(code), timeout=10) as talk:
        assert talk.send(b"ab")
        assert talk.receive() == b"abab"
        assert talk.send(b"c")
        assert talk.receive() == b"cc"


def test_one_that_does_not_answer_a_line_gives_none():
    """In time; and one that is gone is not spoken to."""
    with dialogue(python("import time; time.sleep(60)"), timeout=0.3) as talk:
        assert talk.receive() is None
    with dialogue(python("import os; os.kill(os.getpid(), 9)"), timeout=10) as talk:
        assert talk.receive() is None
        said = [talk.send(b"x" * 100_000) for _ in range(3)]
        assert not said[-1]


def test_a_line_without_end_gives_none():
    """It is not kept either."""
    code = "import sys\nwhile True: sys.stdout.write('x' * 10000)"
    with dialogue(python(code), timeout=20, limit=100_000) as talk:
        assert talk.receive() is None
