"""Text of tasks and agents never reaches a terminal as anything but text."""

import os
import re
import threading
from pathlib import Path

import pytest

from fleet.queue.protocol import Draft
from fleet.queue.sql.tracker.comments import comment, remember
from tests import warm
from tests.story.scene import PATIENCE

#: The window's title, a cleared screen, a reversed line, an 8-bit sequence, a line written over.
EVIL = "evil\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\x9b31m\rall is well\x08\x7f"
#: The same where a line may end.
LINES = f"{EVIL}\nfleet-zzz  P0  open  forged {EVIL}"
#: What a terminal would obey. A line ends with \n alone, once the terminal's own \r is off.
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: What fleet itself paints with; the hostile text holds none of it.
OWN_COLOURS = re.compile(r"\x1b\[[\d;]*m")

TEXTS = [
    ("bd", "list"), ("bd", "list", "--all"), ("bd", "ready"), ("bd", "search", "evil"),
    ("bd", "show", "{a}"), ("bd", "show", "{b}"), ("bd", "comments", "{a}"),
    ("bd", "dep", "tree", "{b}"), ("bd", "dep", "list", "{b}"), ("bd", "blocked"),
    ("bd", "children", "{a}"), ("bd", "label", "list", "{a}"), ("bd", "memories"),
    ("bd", "recall", "key"), ("bd", "prime"), ("bd", "human", "list"), ("bd", "epic", "status"),
    ("bd", "count", "--by-assignee"), ("bd", "stats"), ("bd", "update", "{a}", "--priority", "1"),
    ("bd", "show", EVIL), ("bd", "close", EVIL), ("bd", "nonsense" + EVIL),
    ("show", "{a}"), ("show", "{b}"), ("ready",), ("tasks",), ("questions",), ("status",),
    ("trust",), ("usage", "--by", "task"), ("stats",), ("show", EVIL), ("retry", EVIL),
    ("task", "{run}", "receipt"),
]  # fmt: skip
#: What programs read: JSON and files are as they are in a pipe, and harmless on a terminal.
RAW = [
    ("bd", "list", "--json"), ("bd", "show", "{a}", "--json"), ("bd", "export"),
    ("ready", "--json"), ("questions", "--json"), ("trust", "--json"), ("log",),
    ("task", "{run}", "log"), ("task", "{run}", "plan"), ("task", "{run}", "events"),
    ("task", "{run}", "stderr"), ("task", "{run}", "receipt", "--json"),
]  # fmt: skip


@pytest.fixture
def ids(scene):
    """Tasks with hostile text in every field, and a run with hostile text in every file."""
    queue = scene.queue
    run = scene.add("script:evil.sh tool ask", title=EVIL)
    (scene.folder(run) / "evil.txt").write_text(LINES)
    (scene.folder(run) / "evil.sh").write_text(
        f"cat {scene.folder(run)}/evil.txt >&2\n"
        f"cp {scene.folder(run)}/evil.txt $FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md\n"
        f"cp {scene.folder(run)}/evil.txt '{scene.folder(run)}/artifacts/Q&A.md'\n"
    )
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(run) == "blocked"
    a = queue.add(
        Draft(
            title=EVIL, description=LINES, design=LINES, acceptance_criteria=LINES, notes=LINES,
            labels=(EVIL.replace("\n", ""),), owner=EVIL, created_by=EVIL, spec_id=EVIL,
            external_ref=EVIL, metadata={EVIL: EVIL, "fleet": {"cwd": EVIL, "verify": [EVIL]}},
        )
    ).id  # fmt: skip
    b = queue.add(Draft(title=LINES, depends_on=(("blocks", a),), issue_type="bug")).id
    epic = queue.add(Draft(title=EVIL, issue_type="epic")).id
    queue.add(Draft(title=EVIL, parent=epic))
    comment(queue, a, author=EVIL, text=LINES)
    remember(queue, "key", LINES)
    return {"a": a, "b": b, "run": run}


def printed(scene, words, *, terminal):
    """What one command prints, on a terminal or into a pipe."""
    env = {**scene.env, "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
    if not terminal:
        done = warm.fleet(words, env=env, cwd=scene.project, timeout=PATIENCE)
        return (done.stdout + done.stderr).decode()
    ours, theirs = os.openpty()
    chunks = []

    def read():
        try:
            while data := os.read(ours, 1 << 16):
                chunks.append(data)
        except OSError:
            return  # the other end was closed

    reader = threading.Thread(target=read)
    reader.start()
    with Path(os.devnull).open("rb") as empty:
        process = warm.start(words, env=env, cwd=scene.project, streams=(empty, theirs, theirs))
        process.wait(PATIENCE)
    os.close(theirs)
    reader.join(PATIENCE)
    os.close(ours)
    return OWN_COLOURS.sub("", b"".join(chunks).decode().replace("\r\n", "\n"))


def test_no_command_lets_a_text_speak_to_the_terminal(scene, ids):
    """Titles, notes, comments, labels, reasons: an agent writes them, a person prints them."""
    found = {}
    for words in TEXTS:
        line = [word.format(**ids) if "{" in word else word for word in words]
        for terminal in (True, False):
            said = printed(scene, line, terminal=terminal)
            assert said, words
            if obeyed := OBEYED.findall(said):
                found[" ".join(words), terminal] = "".join(obeyed)
            # Memories are texts of many lines by themselves; no other text begins a line.
            forged = re.search(r"^fleet-zzz", said, re.MULTILINE)
            assert {"recall", "prime"} & set(words) or not forged, words
    assert found == {}


def test_what_programs_read_is_harmless_on_a_terminal_only(scene, ids):
    """JSON and files go into a pipe as they are, and mean the same on a terminal."""
    found = {}
    for words in RAW:
        line = [word.format(**ids) if "{" in word else word for word in words]
        if obeyed := OBEYED.findall(printed(scene, line, terminal=True)):
            found[" ".join(words)] = "".join(obeyed)
    assert found == {}
    assert "\u202e" in printed(scene, ["bd", "show", ids["a"], "--json"], terminal=False)
