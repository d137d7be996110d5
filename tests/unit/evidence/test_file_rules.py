"""Committed files that a person looks at before they land."""

import pytest

from fleet.evidence.file_rules import why_files_ask
from fleet.git.unusual_files import NewBlob


def files(*paths, size=10, is_added=True):
    return [NewBlob(path=path, size=size, is_added=is_added) for path in paths]


def test_ordinary_files_ask_nobody():
    """Most work has nothing else."""
    assert why_files_ask(files("src/a.py", "docs/env.md", ".env.example")) == ()


def test_each_kind_has_a_line_of_its_own():
    """The person sees which files, and how many."""
    found = why_files_ask(
        [*files(".env", "keys/id_rsa"), *files("big.bin", size=60 << 20), *files("a.py")]
    )
    assert found == (
        "files that look like secrets: .env, keys/id_rsa",
        "very large files: big.bin (60MB)",
    )


def test_a_secret_that_was_there_before_is_no_news():
    """The project tracks it already."""
    assert why_files_ask(files(".env", is_added=False)) == ()


def test_a_tracked_file_that_became_large_asks():
    """The history grows by it all the same."""
    assert why_files_ask(files("a.bin", size=51 << 20, is_added=False)) != ()


@pytest.mark.parametrize(("count", "size"), [(20_001, 1), (13, 40 << 20)])
def test_very_many_new_files_ask(count, size):
    """By number, or by all their bytes."""
    (said,) = why_files_ask(files(*(f"data/{number}" for number in range(count)), size=size))
    assert said.startswith(f"{count:,} new files of ")
