"""The keeper: the tiny process that owns one run's agent and outlives the supervisor.

Run as `python -I -S keeper.py RUN_DIR [LOCK_FD]` with the agent's environment. The keeper imports
nothing of fleet, and of the library only modules that CPython has in C: json, signal, ctypes,
typing and pathlib would each add half as much again to the interpreter's start. SIGTERM asks the
keeper to stop its agent; a second SIGTERM, or SIGINT, to kill it at once. At the run's time limit
the keeper stops the agent by itself, and so it does when a lease was not renewed in time.
"""

from __future__ import annotations

import _thread
import fcntl
import os
import sys
import time
from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any, NoReturn

    #: Name by pid and start.
    Found = dict[tuple[int, int], str]
else:
    import _signal as signal

LINUX = sys.platform == "linux"
#: The lock's descriptor in keeper and agent: out of the way of `exec 3>file`, and above the low
#: descriptors that node withholds from its children, so that an agent's tools hold the lock too.
LOCK_FD = 99
#: Exit codes of a keeper that must not run: another run lives, or this run is fenced or over.
BUSY, SETTLED = 75, 76
#: Seconds of killing before the keeper records what cannot be killed, and ends.
PATIENCE = 10.0
#: Seconds between two looks at the lease of a run at most: no timer counts while a machine sleeps.
LOOK = 5.0
WAKE = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
#: No link is followed, and a pipe is not waited for.
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
#: Bytes of run.json at most.
LARGEST = 4 << 20
#: Bytes of output that are copied at a time.
CHUNK = 1 << 17
#: Seconds that an output without an end is waited for, once all processes of the run have ended.
SILENCE = 1.0


def main() -> NoReturn:
    """Lock, start, wait, sweep, record."""
    os.chdir(sys.argv[1])
    lock = take_lock()
    if any(os.path.lexists(name) for name in ("fence", "started", "exit.json")):
        os._exit(SETTLED)
    signal.pthread_sigmask(signal.SIG_BLOCK, WAKE)
    signal.signal(signal.SIGCHLD, ignore)
    if os.getsid(0) != os.getpid():
        os.setsid()
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    for name, fd in (
        ("stdout", 1),
        ("stderr", 2),
    ):  # an error of the keeper itself belongs to the run too
        os.dup2(open_plain(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), fd)
    for fd in map(int, os.listdir("/dev/fd")):
        if fd > 2 and fd != lock:
            os.closerange(fd, fd + 1)  # unlike close(), it does not mind one that is closed
    with open(open_plain("run.json", os.O_RDONLY), "rb", buffering=0) as file:
        tree = AgentTree(loads(file.read(LARGEST).decode(errors="replace")))
    error = tree.start(lock)
    left = tree.keep()
    tree.finish_output()
    tree.record(error, left)
    os._exit(0)  # taking the interpreter down politely would only cost time


def take_lock() -> int:
    """The task's lock: handed down by the supervisor, or taken here."""
    given = len(sys.argv) > 2
    fd = int(sys.argv[2]) if given else open_plain("../../run.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(BUSY)
    if not given:
        os.ftruncate(fd, 0)
        os.write(fd, os.path.basename(os.getcwd()).encode())
    return os.dup2(fd, LOCK_FD)


class AgentTree:
    """The agent and all descendants."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.agent = 0
        self.began = self.ended = (utc(), time.monotonic())
        self.status: int | None = None
        self.stop: str | None = None
        #: When a stop was first asked for, on the monotonic clock.
        self.stop_asked: float | None = None
        #: The moment from which on everything is killed; None while nothing is to end.
        self.deadline: float | None = None
        self.swept: Found = {}
        self.outputs: list[Output] = []
        #: Why output of the agent could not be written when the agent ended or was to be stopped.
        self.short = ""

    def start(self, lock: int) -> dict[str, Any] | None:
        """Fork the agent, record the start, and only then let the agent run; returns the error, if
        any.
        """
        go, let_go = os.pipe()
        failed, fail = os.pipe()
        pairs = [open_channel(reopens=bool(self.spec.get("reopens"))) for _ in range(2)]
        keeper = os.getpid()
        self.agent = os.fork()
        if self.agent == 0:
            os.close(let_go)
            for fd, (_, end) in enumerate(pairs, start=1):
                os.dup2(end, fd)
            become_agent(self.spec, keeper, lock, go, fail)
        os.close(fail)
        for _, end in pairs:
            os.close(end)
        # Threads begin after the fork, which would copy the state of one thread only.
        self.outputs = [Output(fd, source) for fd, (source, _) in enumerate(pairs, start=1)]
        self.began = utc(), time.monotonic()
        who = {"keeper": identity(keeper), "agent": identity(self.agent)}
        put("started", {**who, "at": self.began[0], "monotonic": self.began[1]}, durable=False)
        os.write(let_go, b"!")  # this process holds `go` open itself, so this cannot fail
        text = os.read(failed, 4096).decode()  # empty as soon as the program runs
        for fd in (go, let_go, failed):
            os.close(fd)
        try:
            sync("started", ".")  # late, so that no agent waits for the disk
        except OSError as problem:
            complain("started", problem)
        return loads(text) if text else None

    def keep(self) -> Found:
        """Wait until the whole tree has ended or cannot be killed; the processes that are left."""
        asked, sweeping, give_up = 0, False, float("inf")
        leased = self.spec.get("leased")
        time_up = self.began[1] + (self.spec.get("time_limit") or 9e7)  # no timer takes more
        while self.reap() and (now := time.monotonic()) < give_up:
            if asked in (signal.SIGTERM, signal.SIGINT):
                self.obey(now=asked == signal.SIGINT or self.stop in ("graceful", "now"))
            elif self.status is None and self.stop is None:
                if now >= time_up:
                    self.obey(now=False)
                    self.stop = "timeout"
                elif leased and lease_left() <= 0:
                    self.obey(now=False)
                    self.stop = "lease"
            if self.status is not None and not sweeping:
                sweeping = True
                self.signal_all(signal.SIGTERM, descendants)
                self.deadline = min(self.deadline or give_up, now + self.spec["sweep_grace"])
            if self.deadline is not None and now >= self.deadline:
                self.signal_all(signal.SIGKILL, descendants)
                give_up = min(give_up, now + PATIENCE)
                self.deadline = now + 0.05
            elif give_up < float(
                "inf"
            ):  # a process died, and its children belong to the keeper now
                self.signal_all(signal.SIGKILL, children)
            wait = (self.deadline or time_up) - now
            if leased and self.deadline is None:
                wait = min(wait, LOOK, max(0.05, lease_left()))
            signal.setitimer(signal.ITIMER_REAL, max(0.001, wait))
            asked = signal.sigwait(WAKE)
        return descendants() if LINUX and time.monotonic() >= give_up else {}

    def finish_output(self) -> None:
        """Write what the agent has printed and the keeper has not read yet."""
        self.note_shortage()
        end = time.monotonic() + PATIENCE
        for output in self.outputs:
            output.finish(end)
        self.note_shortage()

    def note_shortage(self) -> None:
        self.short = self.short or next((each.problem for each in self.outputs if each.problem), "")

    def reap(self) -> bool:
        """False once no child is left: to a subreaper that means no descendant either."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self.agent:
                    self.status, self.ended = status, (utc(), time.monotonic())
                elif pid == 0:
                    return True
        except ChildProcessError:
            return False

    def obey(self, *, now: bool) -> None:
        """Stop the agent; processes that an ended agent left behind are killed at once."""
        self.deadline = time.monotonic()
        self.note_shortage()
        if self.status is None:
            self.stop_asked = self.stop_asked or self.deadline
            self.stop = "now" if now else "graceful"
            if not now:
                self.deadline += self.spec["grace"]
                self.signal_all(signal.SIGTERM, descendants)

    def signal_all(self, number: int, look: Callable[[], Found]) -> None:
        """Signal parents first. SIGKILL goes on for as long as `look` finds new processes."""
        if not LINUX:
            return signal_group(self.agent, number)
        seen: set[tuple[int, int]] = set()
        for _ in range(100):
            new = {who: name for who, name in look().items() if who not in seen}
            for pid, ticks in new:
                # A box whose holder ends kills all that is in it, and no process has its grace.
                if number == signal.SIGKILL or not self.spec.get("boxed") or number_in_box(pid):
                    signal_one(pid, ticks, number)
            seen.update(new)
            if self.status is not None:
                self.swept.update({who: new[who] for who in new if not self.holds_box(who[0])})
            if not new or number != signal.SIGKILL:
                break
            look = children  # orphans of killed parents become children of the keeper
        return None

    def holds_box(self, pid: int) -> bool:
        """The process is that of fleet's own box, which ends with the agent: no leftover."""
        return bool(self.spec.get("boxed")) and number_in_box(pid) == 1

    def record(self, error: dict[str, Any] | None, left: Found) -> None:
        """Write exit.json, for up to a minute if the disk is full; the lock is held until then."""
        import resource

        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = None
        if self.status is None:
            self.ended = utc(), time.monotonic()
        elif error is None:
            code = os.waitstatus_to_exitcode(self.status)
        ending = {
            "code": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "error": error,
            "stop": self.stop,
            "stop_seconds": self.stop_asked and time.monotonic() - self.stop_asked,
            "started_at": self.began[0],
            "ended_at": self.ended[0],
            "seconds": self.ended[1] - self.began[1],
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": usage.ru_maxrss * (1024 if LINUX else 1),
            "swept": leftovers(self.swept),
            "left": leftovers(left),
            "short": self.short,
        }
        for _ in range(60):
            try:
                return put("exit.json", ending, durable=True)
            except FileNotFoundError:  # the run's directory was deleted: there is no place for it
                return None
            except OSError as problem:
                complain("exit.json", problem)
                time.sleep(1)
        return None


class Output:
    """One stream of the agent on its way to the run's file, which the agent cannot open.

    While the file's disk is full the agent waits, as its program does for a slow reader.
    """

    def __init__(self, fd: int, source: int) -> None:
        self.fd, self.source = fd, source
        #: Why the last write failed; empty after one that went well.
        self.problem = ""
        self.reading = False
        self.done = _thread.allocate_lock()
        self.done.acquire()
        _thread.start_new_thread(self.copy, ())

    def copy(self) -> None:
        try:
            while data := self.read():
                self.write(memoryview(data))
        finally:
            self.done.release()

    def read(self) -> bytes:
        self.reading = True
        try:
            return os.read(self.source, CHUNK)
        except OSError:  # the agent ended with unread input of its own
            return b""
        finally:
            self.reading = False

    def write(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self.fd, rest) :]
                self.problem = ""
            except OSError as problem:
                self.problem = f"{('stdout', 'stderr')[self.fd - 1]}: {problem.strerror}"
                time.sleep(0.2)

    def finish(self, end: float) -> None:
        """Wait for the end of the output, which a process outside of the tree may hold open."""
        silent_since = time.monotonic()
        while not self.done.acquire(timeout=0.02):
            now = time.monotonic()
            if not self.reading:
                silent_since = now
            if now >= end or now - silent_since >= SILENCE:
                return


def open_channel(*, reopens: bool) -> tuple[int, int]:
    """The keeper's end and the agent's end of one output.

    A socket cannot be opened through /proc/<pid>/fd, as a file and a pipe can: no process can write
    into an agent's output but those that were given it. `reopens`: a shell may open /dev/stderr.
    """
    if reopens:
        return os.pipe()
    import _socket

    ours, theirs = _socket.socketpair()
    return ours.detach(), theirs.detach()


def lease_left() -> float:
    """Seconds until the agent of a leased run must be stopped, counted while the machine sleeps.
    Without the record that the supervisor writes with each renewal there are none.
    """
    try:
        fd = open_plain("held_until", os.O_RDONLY)
        try:
            until = float(os.read(fd, 64))
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return 0.0
    return until - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def become_agent(spec: dict[str, Any], keeper: int, lock: int, go: int, fail: int) -> NoReturn:
    """Run the agent's program in this process, or tell the keeper why not."""
    stage = "start"
    try:
        if LINUX:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()  # `kill 0` in the agent must not reach the keeper
        if os.read(go, 1) != b"!" or os.getppid() != keeper:
            os._exit(1)
        stage = "stdin"
        stdin = spec["stdin"]
        os.dup2(sealed_copy(stdin) if stdin else os.open(os.devnull, os.O_RDONLY), 0)
        stage = "cwd"
        os.chdir(spec["cwd"])
        stage = "exec"
        # A box ends with its holder, so its processes need no lock, and could write to the file.
        os.set_inheritable(lock, not spec.get("boxed"))
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # an ignored one would stay ignored
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(spec["argv"][0], spec["argv"])
    except (OSError, ValueError, AttributeError) as error:
        number = getattr(error, "errno", None) or 0
        message = getattr(error, "strerror", None) or str(error)
        os.write(fail, dumps({"stage": stage, "errno": number, "message": message}).encode())
    finally:
        os._exit(127)


def prctl(option: int, value: int) -> None:
    import _ctypes

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # pyright: ignore[reportArgumentType]
    if _ctypes.call_function(function, (option, value, 0, 0, 0)) != 0:
        raise OSError(f"prctl({option}, {value}) failed")


def descendants() -> Found:
    """Every living process below this one, parents first."""
    rows = [row for name in os.listdir("/proc") if name.isdecimal() and (row := stat(int(name)))]
    found: Found = {}
    layer = {os.getpid()}
    while layer:
        below = [row for row in rows if row[1] in layer]
        rows = [row for row in rows if row[1] not in layer]
        found.update({(pid, ticks): name for pid, _, ticks, state, name in below if state != "Z"})
        layer = {row[0] for row in below}
    return found


def children() -> Found:
    """The keeper's own children. A process that forks and ends in a loop outruns `descendants`."""
    try:
        pids = read(f"/proc/self/task/{os.getpid()}/children").split()
    except OSError:  # not every kernel has this file
        return descendants()
    rows = [row for pid in pids if (row := stat(int(pid)))]
    return {(pid, ticks): name for pid, _, ticks, state, name in rows if state != "Z"}


def stat(pid: int) -> tuple[int, int, int, str, str] | None:
    """A process's pid, parent, start, state and name; None if the process is gone."""
    try:
        head, _, tail = read(f"/proc/{pid}/stat").rpartition(")")  # a name may hold brackets
    except OSError:
        return None
    fields = tail.split()
    return pid, int(fields[1]), int(fields[19]), fields[0], head.partition("(")[2]


def number_in_box(pid: int) -> int:
    """The process's number in a namespace below this one; 0: in none. 1 holds a box."""
    try:
        line = read(f"/proc/{pid}/status").partition("NSpid:")[2].partition("\n")[0]
    except OSError:
        return 0
    numbers = line.split()
    return int(numbers[1]) if len(numbers) > 1 else 0


def signal_one(pid: int, ticks: int, number: int) -> None:
    """Signal that very process, and no other one that has the same number by now."""
    try:
        fd = os.pidfd_open(pid)
    except (
        OSError,
        AttributeError,
    ):  # the process has ended, or kernel or Python are too old for this
        fd = -1
    try:
        if (row := stat(pid)) and row[2] == ticks:
            signal.pidfd_send_signal(fd, number) if fd >= 0 else os.kill(pid, number)
    except OSError:  # ended, or another user's: `keep` finds and reports what stays
        pass
    finally:
        if fd >= 0:
            os.close(fd)


def signal_group(leader: int, number: int) -> None:
    """For systems without /proc: misses processes that left the group."""
    try:
        os.killpg(leader, number)
    except OSError:
        pass


def identity(pid: int) -> dict[str, Any]:
    """A ProcessId. Not on Linux: the start is a moment at which the process had its number."""
    row = stat(pid) if LINUX else None
    boot = read("/proc/sys/kernel/random/boot_id").strip() if LINUX else ""
    return {"pid": pid, "start_ticks": row[2] if row else int(time.time() * 100), "boot_id": boot}


def leftovers(found: Found) -> list[dict[str, Any]]:
    return [{"pid": pid, "name": name} for (pid, _), name in found.items()]


def open_plain(name: str, flags: int) -> int:
    """Open a file that an agent could have replaced: follows no link, and waits for no pipe."""
    fd = os.open(name, flags | SAFELY, 0o600)
    if os.fstat(fd).st_mode & 0o170000 != 0o100000:
        raise OSError(22, "not a plain file", name)
    os.set_blocking(fd, True)  # an agent that inherits the descriptor expects so
    return fd


def sealed_copy(name: str) -> int:
    """A file to read that no process can change, not even one that opens the descriptor again."""
    fd = open_plain(name, os.O_RDONLY)
    if not LINUX:  # only there can a process open another one's descriptor
        return fd
    sealed = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    while data := os.read(fd, CHUNK):
        os.write(sealed, data)
    os.lseek(sealed, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, seals)
    return sealed


def put(name: str, record: dict[str, Any], *, durable: bool) -> None:
    """Write a record in one step; if durable, one that a power cut cannot halve.

    No link is followed, and a directory that stands in the record's place is put aside.
    """
    data = dumps(record).encode()
    fresh = f".{name}.{os.urandom(4).hex()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFELY, 0o600)
    try:
        if os.write(fd, data) != len(data):
            os.unlink(fresh)
            raise OSError("the disk is full")
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.rename(fresh, name)
    except IsADirectoryError:
        os.rename(name, f"{name}.aside-{os.urandom(4).hex()}")
        os.rename(fresh, name)
    if durable:
        sync(".")


def sync(*names: str) -> None:
    for name in names:
        fd = os.open(name, os.O_RDONLY | SAFELY)
        os.fsync(fd)
        os.close(fd)


def complain(name: str, problem: OSError) -> None:
    try:
        os.write(2, f"keeper: {name}: {problem}\n".encode())
    except OSError:  # the same full disk; there is no other place for the message
        pass


def read(name: str) -> str:
    with open(name, "rb", buffering=0) as file:
        return file.read().decode(errors="replace")


def utc() -> str:
    now = time.time_ns()
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9))
    return f"{second}.{now % 10**9 // 1000:06}Z"


class Plain:
    """The default options of a JSON scanner."""

    strict, memo = True, {}
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def loads(text: str) -> dict[str, Any]:
    scan: Any = make_scanner
    try:
        return scan(Plain)(text, 0)[0]
    except (AttributeError, TypeError):  # a later Python may ask for more than Plain has
        import json

        return json.loads(text)


def dumps(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if hasattr(value, "keys"):
        return "{" + ",".join(f"{dumps(key)}:{dumps(value[key])}" for key in value) + "}"
    if hasattr(value, "append"):
        return "[" + ",".join(map(dumps, value)) + "]"
    return "null" if value is None else repr(value)


def ignore(*_: object) -> None:
    """Handle SIGCHLD by nothing: without a handler some systems drop the signal unseen."""


if __name__ == "__main__":
    main()
