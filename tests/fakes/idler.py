"""An agent that works, or does not, without a word: idler.py "STEP STEP …".

Its steps are those that matter to whoever watches it, and no other.
"""

# ruff: noqa: PTH104, PTH110, PTH123, UP031
import os
import subprocess
import sys
import time

run_dir, task_dir = os.environ["FLEET_RUN_DIR"], os.environ["FLEET_TASK_DIR"]
number = int(run_dir.rsplit("/", 1)[1])


def tell(kind, **more):
    pairs = "".join(f',"{name}":"{value}"' for name, value in more.items())
    os.write(1, f'{{"type":"{kind}"{pairs}}}\n'.encode())


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:  # a fifth of a core: four times what counts as work
        sum(range(100_000))
        time.sleep(0.01)


def wait_for(name):
    end = time.monotonic() + 60
    while not os.path.exists(f"{task_dir}/{name}") and time.monotonic() < end:
        time.sleep(0.02)


def play(step):
    name, _, need = step.partition(":")
    if name == "start":
        tell("start", session=need or "s1")
    elif name == "missing":
        os.write(1, b'{"type":"start","session":"s1"}\n')
    elif name == "call":  # call:ID:TOOL:TIMEOUT
        call, _, rest = need.partition(":")
        tool, _, limit = rest.partition(":")
        line = '{"type":"call","id":"%s","name":"%s","input":{"command":"%s"%s}}\n'
        extra = f',"timeout":{limit}' if limit else ""
        os.write(1, (line % (call, tool or "Bash", call, extra)).encode())
    elif name == "fail":
        tell("fail", id=need, text="no")
    elif name == "result":
        tell("result", id=need)
    elif name == "text":
        tell("text", text=need or "x")
    elif name == "every":  # every:SECONDS:TIMES
        pause, times = need.split(":")
        for turn in range(int(times)):
            time.sleep(float(pause))
            tell("text", text="alive %d" % turn)
    elif name == "drone":  # drone:SECONDS:TIMES:LINE, always the same
        pause, times, line = need.split(":", 2)
        for _ in range(int(times)):
            os.write(1, line.replace("'", '"').encode() + b"\n")
            time.sleep(float(pause))
    elif name == "sleep":
        time.sleep(float(need))
    elif name == "busy":
        busy(float(need))
    elif name == "child":  # a command that takes its time
        subprocess.run(["sleep", need], check=False)
    elif name == "compile":  # a command that works hard and says nothing
        again = [sys.executable, "-I", "-S", __file__, f"busy:{need}"]
        subprocess.run(again, check=False)
    elif name == "transcript":
        for _ in range(int(need) * 5):
            with open(f"{task_dir}/s1.jsonl", "a") as file:
                file.write("more\n")
            time.sleep(0.2)
    elif name == "end":
        tell("end")
    elif name == "done":
        spool = os.environ["FLEET_SPOOL"]
        words = (
            "fleet-request-1",
            5,
            "bd",
            "close",
            os.environ["FLEET_TASK_ID"],
            "-r",
            "did it",
            0,
        )
        with open(f"{spool}/.close", "w") as file:  # as `bd close` leaves it
            file.write("".join(f"{word}\0" for word in words))
        os.rename(f"{spool}/.close", f"{spool}/close.request")
    elif name == "stderr":
        os.write(2, need.replace("_", " ").encode() + b"\n")
    elif name == "flood":
        chunk = b'{"type":"text","text":"' + b"x" * 1000 + b'"}\n'
        while True:
            os.write(1, chunk * 100)
            time.sleep(0.005)  # much faster than any limit needs, and no more than it takes
    elif name == "eat":
        held = [bytearray(1 << 20) for _ in range(int(need))]
        for piece in held:
            piece[::4096] = b"x" * len(piece[::4096])
        tell("text", text=len(held))
        time.sleep(60)
    elif name == "share":  # much memory once, and many who share it
        held = bytearray(int(need) << 20)
        held[::4096] = b"x" * len(held[::4096])
        for _ in range(8):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        wait_for("go")
    elif name == "fork":
        for _ in range(int(need)):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
    elif name == "await":
        wait_for(need)
    elif name == "mark":
        with open(f"{task_dir}/{need}", "a") as file:
            file.write(f"{os.getpid()}\n")
    elif name == "copy":
        with open(f"{task_dir}/{need}", "w") as file:
            file.write(sys.stdin.read())
    elif name == "resumed":  # which session it was told to carry on
        with open(f"{task_dir}/{need}", "a") as file:
            file.write(f"{sys.argv[2] if len(sys.argv) > 2 else '-'}\n")
    elif name == "exit":
        os._exit(int(need))
    else:
        sys.exit(f"no such step: {step}")


parts = sys.argv[1].split("|")
for word in parts[min(number, len(parts)) - 1].split():
    play(word)
