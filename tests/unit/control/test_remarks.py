"""Remarks on lines of a diff: which places there are, and what the agent is told."""

import pytest

from fleet.control.review.patch import files_of
from fleet.control.review.remarks import comment_at, lines_of, remark_on, review_text
from fleet.errors import BadInput

PATCH = b"""\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@
 one
-two
+TWO
+--- not a header
 three
@@ -40,2 +41,2 @@ def f():
 forty
-old
+new
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-first
-second
diff --git a/with space b/with space
--- a/with space\t
+++ b/with space\t
@@ -0,0 +1 @@
+x
\\ No newline at end of file
diff --git "a/tab\\there" "b/tab\\there"
--- /dev/null
+++ "b/tab\\there"
@@ -0,0 +1 @@
+y
"""


def lines(patch, path):
    """The lines of one file that a patch shows."""
    (file,) = [each for each in files_of(patch) if each.shown.path == path]
    return lines_of(patch, file)


def test_the_lines_of_a_patch_have_the_numbers_of_the_file_after_the_change():
    """And those of a file that is gone the numbers that they had."""
    assert lines(PATCH, "src/a.py") == {
        1: "one", 2: "TWO", 3: "--- not a header", 4: "three", 41: "forty", 42: "new",
    }  # fmt: skip
    assert lines(PATCH, "gone") == {1: "first", 2: "second"}
    assert lines(PATCH, "with space") == {1: "x"}
    assert lines(PATCH, "tab\there") == {1: "y"}


def test_a_remark_quotes_its_line_between_its_neighbours():
    """The agent need not count lines to see what is meant."""
    remark = remark_on(PATCH, comment_at("a.py:2", " too loud "))
    assert (remark.path, remark.line, remark.text) == ("src/a.py", 2, "too loud")
    assert remark.quoted == "     1  one\n>    2  TWO\n     3  --- not a header"
    told = review_text("Not like this.", [remark])
    assert "Not like this." in told
    assert "src/a.py, line 2:\n     1  one\n>    2  TWO" in told


@pytest.mark.parametrize(
    ("place", "text", "why"),
    [
        ("src/a.py", "x", "no place in the diff"),
        ("src/a.py:two", "x", "no place in the diff"),
        (":2", "x", "no place in the diff"),
        ("src/a.py:9", "x", "line 9 of src/a.py is not in the diff"),
        ("b.py:1", "x", "b.py is not in the diff"),
        ("src/a.py:2", " ", "is empty"),
    ],
)
def test_a_place_that_the_diff_has_not_is_refused(place, text, why):
    """With what the diff does have."""
    with pytest.raises(BadInput, match=why) as refused:
        remark_on(PATCH, comment_at(place, text))
    assert refused.value.hint


def test_the_lines_that_there_are_stand_in_the_hint():
    """Not each of them: stretches."""
    with pytest.raises(BadInput) as refused:
        remark_on(PATCH, ("src/a.py", 9, "x"))
    assert refused.value.hint.endswith(": 1-4, 41-42")


def test_a_patch_that_was_cut_is_read_as_far_as_it_goes():
    """A diff of 20 MiB is cut, and what it shows can be spoken of."""
    cut = PATCH.partition(b"-old")[0]
    assert lines(cut, "src/a.py")[41] == "forty"
