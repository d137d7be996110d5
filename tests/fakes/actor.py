"""An agent that plays a script: actor.py "STEP STEP … | STEP …".

The part before the first `|` is for the task's first run, the next for the second, and so on;
the last part is for all later runs. A step is a word, with a colon before what it needs.
"""

# ruff: noqa: PTH104, PTH110, PTH118, PTH119, PTH123, UP031
# Most of a run is this program's start: signal itself would load enum, and add half as much again.
import _signal as signal
import os
import sys
import time

run_dir = os.environ["FLEET_RUN_DIR"]
task_dir = os.environ["FLEET_TASK_DIR"]
task_id = os.environ["FLEET_TASK_ID"]


def tell(line):
    os.write(1, line.encode() + b"\n")


def put(name, text):
    """The file is there at once and whole, as `bd` would leave it."""
    with open(f"{run_dir}/.{name}", "w") as file:
        file.write(text)
    os.rename(f"{run_dir}/.{name}", f"{run_dir}/{name}")


def ask(*words):
    """Leave a request in the drop box, as `bd` would; without waiting for the answer."""
    spool, fields = os.environ["FLEET_SPOOL"], ["fleet-request-1", len(words) + 1, "bd", *words, 0]
    nonce = "%d-%d" % (os.getpid(), time.monotonic_ns())
    # A test that puts a link here wants to know who else would follow it.
    os.close(os.open(spool, os.O_RDONLY | os.O_NOFOLLOW))
    with open(f"{spool}/.{nonce}", "w") as file:
        file.write("".join("%s\0" % field for field in fields))
    os.rename(f"{spool}/.{nonce}", f"{spool}/{nonce}.request")


def mark(name, text=""):
    """One more line in a file of the task's directory."""
    fd = os.open(os.path.join(task_dir, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, f"{text or os.getpid()}\n".encode())
    os.close(fd)


def play(step):
    name, _, need = step.partition(":")
    if name == "tool":
        tell('{"type":"tool","id":"%s"}' % (need or "1"))
    elif name == "done":
        ask("close", task_id, "--reason", need or "did it")
    elif name == "ask":
        ask(
            "update", task_id, "--status", "blocked", "--notes", f"QUESTION: {need or 'which one?'}"
        )
    elif name == "end":
        tell('{"type":"end"}')
    elif name == "limit":
        tell('{"type":"limit"}')
    elif name == "context":
        tell('{"type":"context","tokens":%s}' % need)
    elif name == "say":  # a line of the stream as it is
        tell(need)
    elif name == "count":
        for number in range(int(need)):
            tell('{"type":"text","text":"%d"}' % number)
    elif name == "slowly":
        for number in range(int(need)):
            tell('{"type":"text","text":"%d"}' % number)
            time.sleep(0.005)
    elif name == "mark":
        mark(need)
    elif name == "artifact":
        with open(os.environ["FLEET_ARTIFACT_DIR"] + "/PLAN_AND_STATUS.md", "a") as file:
            file.write(need + "\n")
    elif name == "copy":  # what is on stdin: the prompt
        put(need, sys.stdin.read())
    elif name == "alone":
        guard = os.open(task_dir + "/alone.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.lockf(guard, os.F_TLOCK, 0)
        except BlockingIOError:
            mark("witness", "overlap")
            sys.exit(9)
    elif name == "await":
        end = time.monotonic() + 600  # a busy machine plays slowly
        while not os.path.exists(os.path.join(task_dir, need)) and time.monotonic() < end:
            time.sleep(0.01)
    elif name == "sleep":
        time.sleep(float(need))
    elif name == "work":  # says in the project's ledger, all the time, that it lives
        end = time.monotonic() + float(need)
        ledger = os.open("ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        while (now := time.monotonic()) < end:
            os.write(ledger, b"%s %d %.3f\n" % (task_id.encode(), os.getpid(), now))
            time.sleep(0.05)
    elif name == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif name == "close":  # as an agent would: through the bd that it finds
        words = ["close", os.environ["FLEET_TASK_ID"], "--reason", need]
        if os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", 'bd "$@" >&2', "bd", *words]) != 0:
            sys.exit("bd failed")
    elif name == "script":  # commands of a shell, from a file in the task's directory
        if os.spawnvp(os.P_WAIT, "sh", ["sh", "-e", f"{task_dir}/{need or 'script'}"]) != 0:
            sys.exit("the script failed")
    elif name == "read":  # fails unless an artifact holds the word
        with open(os.environ["FLEET_ARTIFACT_DIR"] + "/Q&A.md") as file:
            assert need in file.read()
    elif name == "exit":
        os._exit(int(need))
    else:
        sys.exit(f"no such step: {step}")


parts = " ".join(sys.argv[1:]).split("|")
number = int(os.path.basename(run_dir))
for step in parts[min(number, len(parts)) - 1].split():
    play(step)
