"""A patch as files, hunks and rows."""

import pytest

from fleet.control.tasks.task_files import Missing
from fleet.control.view.task import read_diff as module
from fleet.control.view.task.read_diff import KeptPatches, read_diff, read_diff_file
from fleet.errors import Refused
from fleet.git.snapshot_names import DIFF
from fleet.queue.protocol import Draft
from tests.builders import a_run

CHANGED = """diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def f():
 one
-the old word
+the new word
 three
@@ -10,2 +10,3 @@
 ten
+-- more
 eleven
\\ No newline at end of file
"""
ADDED = """diff --git "a/new\\nfile\\342\\200\\256.py" "b/new\\nfile\\342\\200\\256.py"
new file mode 100644
--- /dev/null
+++ "b/new\\nfile\\342\\200\\256.py"
@@ -0,0 +1,2 @@
+a
+b
"""
BINARY = """diff --git a/pic.png b/pic.png
index 1..2 100644
GIT binary patch
literal 4
zcmZPo00000
"""
RENAMED = """diff --git a/old.py b/fresh.py
similarity index 100%
rename from old.py
rename to fresh.py
"""
MODE = """diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"""
GONE = """diff --git a/dead.py b/dead.py
deleted file mode 100644
--- a/dead.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.fixture
def diff(fleet):
    """Reads the diff that a run left."""
    task = fleet.queue.add(Draft(title="t"))
    run = a_run(fleet.home.task(task.id))

    def read(patch):
        (run.path / DIFF).write_bytes(patch if isinstance(patch, bytes) else patch.encode())
        return task.id

    return read


def test_every_kind_of_file_is_told(fleet, diff):
    """With names as they are, whatever stands in them."""
    task = diff(CHANGED + ADDED + BINARY + RENAMED + MODE + GONE)
    found = read_diff(fleet, task)
    assert [(file.path, file.kind, file.added, file.removed) for file in found.files] == [
        ("a.py", "changed", 2, 1),
        ("new\nfile\u202e.py", "added", 2, 0),
        ("pic.png", "binary", 0, 0),
        ("fresh.py", "renamed", 0, 0),
        ("run.sh", "mode", 0, 0),
        ("dead.py", "deleted", 0, 1),
    ]
    assert found.files[3].was == "old.py"
    assert (found.added, found.removed) == (4, 2)


def test_rows_have_the_numbers_of_both_sides(fleet, diff):
    """A line that begins with signs is still one line."""
    part = read_diff_file(fleet, diff(CHANGED), 0)
    first, second = part.hunks
    assert first.heading == "def f():"
    assert [(row.sign, row.old, row.new, row.text) for row in first.rows] == [
        (" ", 1, 1, "one"),
        ("-", 2, None, "the old word"),
        ("+", None, 2, "the new word"),
        (" ", 3, 3, "three"),
    ]
    assert [(row.sign, row.old, row.new) for row in second.rows] == [
        (" ", 10, 10), ("+", None, 11), (" ", 11, 12), ("\\", None, None),
    ]  # fmt: skip
    assert part.next_row is None


def test_words_that_differ_are_marked_on_demand(fleet, diff):
    """And only where lines are alike."""
    part = read_diff_file(fleet, diff(CHANGED), 0, words=True)
    removed, added = part.hunks[0].rows[1:3]
    assert removed.text[slice(*removed.marks[0])] == "old"
    assert added.text[slice(*added.marks[0])] == "new"
    assert read_diff_file(fleet, diff(CHANGED), 0).hunks[0].rows[1].marks == ()


def test_what_was_viewed_is_to_be_viewed_again_once_it_changes(fleet, diff):
    """The digest of a file changes with its patch, and with no other file's."""
    before = read_diff(fleet, diff(CHANGED + GONE)).files
    after = read_diff(fleet, diff(CHANGED.replace("new word", "newer word") + GONE)).files
    assert before[0].digest != after[0].digest
    assert before[1].digest == after[1].digest


def test_a_long_file_is_folded_and_comes_in_parts(fleet, diff):
    """100,000 lines: the list tells it, and each part is one answer."""
    rows = 100_000
    long = (
        "diff --git a/l b/l\nnew file mode 100644\n--- /dev/null\n+++ b/l\n"
        f"@@ -0,0 +1,{rows} @@\n" + "".join(f"+line {n}\n" for n in range(rows))
    )
    task = diff(long)
    (file,) = read_diff(fleet, task).files
    assert (file.folded, file.added, file.lines) == (True, rows, rows)
    part = read_diff_file(fleet, task, 0)
    assert sum(len(hunk.rows) for hunk in part.hunks) == module.MOST_ROWS
    later = read_diff_file(fleet, task, 0, row=rows - 10)
    assert [row.new for hunk in later.hunks for row in hunk.rows] == [*range(rows - 9, rows + 1)]
    assert later.next_row is None


@pytest.mark.parametrize(
    "patch", [b"", b"no patch", b"diff --git ", b"@@ -1 +1 @@\n", b"\xff\n\x00"]
)
def test_what_is_no_patch_has_no_files_or_is_bearable(fleet, diff, patch):
    """An agent may have damaged it."""
    found = read_diff(fleet, diff(patch))
    for file in found.files:
        read_diff_file(fleet, found.task_id, file.number)
    assert len(found.files) <= 1


def test_a_task_without_work_says_why(fleet):
    """Instead of an empty page."""
    task = fleet.queue.add(Draft(title="t"))
    assert read_diff(fleet, task.id).no_diff
    with pytest.raises(Missing):
        read_diff_file(fleet, task.id, 0)


def test_a_file_is_read_from_the_diff_that_was_listed(fleet, diff, monkeypatch):
    """Its number means that file, and git is asked once for all files."""
    task = diff(CHANGED + GONE)
    listed = read_diff(fleet, task)
    diff(GONE)  # the agent goes on
    part = read_diff_file(fleet, task, 0, of=listed.digest)
    assert part.file.path == "a.py"
    monkeypatch.setattr(module, "_KEPT", KeptPatches())  # a page that was open over a restart
    with pytest.raises(Refused, match="has changed"):
        read_diff_file(fleet, task, 0, of=listed.digest)
    diff(CHANGED + GONE)
    assert read_diff_file(fleet, task, 0, of=listed.digest).file.path == "a.py"


def test_only_so_much_is_kept_and_the_latest_whatever_its_size():
    """A patch of any size can be looked at, and old ones make room."""
    kept = KeptPatches(most=10)
    first = kept.keep("t", b"12345")
    second = kept.keep("t", b"123456789")
    assert (kept.get("t", first), kept.get("t", second)) == (None, b"123456789")
    assert kept.get("other", second) is None
    large = kept.keep("t", b"x" * 100)
    assert kept.get("t", large) == b"x" * 100


def test_a_diff_of_100_000_lines_is_folded_and_read_by_stretches(fleet, diff):
    """No answer holds all of it, and the last stretch is as near as the first."""
    rows = "".join(f"+line {n}\n" for n in range(100_000))
    head = (
        "diff --git a/l b/l\nnew file mode 100644\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,100000 @@\n"
    )
    listed = read_diff(fleet, task := diff(head + rows))
    assert (listed.files[0].lines, listed.files[0].folded) == (100_000, True)
    last = read_diff_file(fleet, task, 0, of=listed.digest, row=98_000)
    assert (last.hunks[0].rows[-1].text, last.next_row) == ("line 99999", None)
    assert len(last.hunks[0].rows) == module.MOST_ROWS
