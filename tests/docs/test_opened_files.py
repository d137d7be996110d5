"""Files that an agent could have touched are opened in one place each: to read, and to write."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/fleet"
#: Rooms that read and write records of tasks and runs.
ROOMS = (
    "files", "runs", "home", "processes", "settlement", "supervisor", "control", "evidence",
    "spending", "accounts",
)  # fmt: skip
#: Ways to open or write a file that follow links, wait for pipes, or read without a bound.
BARE = (
    "open",
    "fdopen",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "touch",
    "copyfile",
)

#: Where a bare way is used on purpose, with the reason.
ALLOWED = {
    "files/agent_place.py": "the door to places that agents can write to",
    "settlement/session_files.py": "a state directory, and a file of such a place",
    "files/tail.py": "a file of such a place",
    "files/atomic_write.py": "the place for writing: a fresh name, with O_EXCL and O_NOFOLLOW",
    "files/overwrite.py": "the place for writing over a part, with the same flags as safe_read",
    "files/put_aside.py": "the place for opening a file to write, with the flags of safe_read",
    "files/safe_read.py": "the place for reading",
    "files/lenient_read.py": "files of people and of CLIs: follows links, waits for nothing",
    "runs/event_log.py": "opened to read and to cut, with the flags of safe_read",
    "runs/run_directory.py": "new files in a new directory, with O_EXCL and the flags of safe_read",
    "supervisor/shortage.py": "one file of the home itself, with O_EXCL",
    "home/messages.py": "a fresh number with O_EXCL; the marks of messages hold nothing",
    "files/seals.py": "one empty file with O_EXCL",
    "processes/keeper.py": "imports nothing of fleet: it has `open_plain` and `put` of its own",
    "processes/keeper_client.py": "the keeper's byte code, in the installed package",
    "processes/own_distribution.py": "a file of the installed package",
    "processes/process_identity.py": "/proc",
    "control/edit_config.py": "runtime.toml, which is a person's",
    "control/hosts/add/add_host.py": "an archive in memory",
    "control/hosts/add/own_wheels.py": "files of the installed package",
    "control/hosts/add/setup_there.py": "runs on another machine, without fleet's modules",
    "control/hosts/add/ssh_call.py": "a program of the installed package",
    "control/init.py": "runtime.toml, which is a person's",
    "control/plan/write.py": "a template of the installed package",
    "control/queue/trust.py": "a file that a person names",
    "control/tasks/task_files.py": "a descriptor of safe_read",
    "supervisor/start/agent_bin.py": "programs of the installed package",
}


def bare_calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", None) or getattr(function, "id", None)
            if name in BARE:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)[:60]}"


@cache
def found():
    calls = {}
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            if lines := list(bare_calls(path)):
                calls[str(path.relative_to(SOURCE))] = lines
    return calls


def test_records_are_opened_in_one_place():
    """A new bare `open` on a file that an agent could have replaced would hang or be led astray."""
    unexpected = [line for name, lines in found().items() if name not in ALLOWED for line in lines]
    assert unexpected == []


def test_each_exception_is_still_needed():
    """An entry that stands for nothing would hide the next one."""
    assert sorted(set(ALLOWED) - set(found())) == []
