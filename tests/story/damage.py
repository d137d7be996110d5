"""Ways to spoil a file or directory of a task, as an agent or an accident could."""

import contextlib
import os
import shutil
import socket

#: What a run of a task leaves, and what it would: every name that fleet reads or writes.
OF_TASK = (
    ".", "task.json", "events.jsonl", "log.jsonl", "log.stderr", "run.lock", "runs", "artifacts",
    "tells", ".failures", ".forgiven", "closed-by-hand", "compare.json",
)  # fmt: skip
OF_RUN = (
    ".", "run.json", "prompt.md", "started", "exit.json", "fence", "stdout", "stderr", "spool",
    "said.json", "stop_reason.json", "progress.json", "receipt.json", "outcome.json", "verify",
    ".run.json", ".exit.json", ".progress.json", ".diff.patch", "diff.patch", "pins",
)  # fmt: skip


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            # Processes may still write here.
            shutil.rmtree(path, ignore_errors=True)
            if path.exists():
                path.rename(path.parent.parent / f"moved-{path.name}-{os.urandom(4).hex()}")
        else:
            path.unlink()


def _a_directory(path, victim):
    del victim
    path.mkdir()
    (path / "inside").write_text("not empty")


def _a_socket(path, victim):
    del victim
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{path.name}")  # a path of any length
    os.close(here)


def _a_large_file(path, victim):
    del victim
    with path.open("wb") as file:
        file.truncate(1 << 30)


#: By name: what is put in the place of a file. `victim` is a file outside of the home.
KINDS = {
    "pipe": lambda path, victim: os.mkfifo(path),
    "directory": _a_directory,
    "dangling": lambda path, victim: path.symlink_to(victim.parent / "nowhere"),
    "circle": lambda path, victim: path.symlink_to(path),
    "link": lambda path, victim: path.symlink_to(victim),
    "folder": lambda path, victim: path.symlink_to(victim.parent),
    "socket": _a_socket,
    "large": _a_large_file,
    "garbage": lambda path, victim: path.write_bytes(b'{"\0\xff' * 1000),
    "empty": lambda path, victim: path.write_bytes(b""),
    "deleted": lambda path, victim: None,
}


#: Into so many parts all cases are cut: few enough tasks in each to be at work at once.
PARTS = 24


def spoil(path, kind, victim):
    """Replace a file or directory, whether or not it is there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        remove(path)
        KINDS[kind](path, victim)


def cases(names, part):
    """Each name with about one of the kinds, another one for the next name."""
    return [
        (name, kind)
        for number, name in enumerate(names)
        for place, kind in enumerate(KINDS)
        if (number + place) % PARTS == part
    ]
