"""The digest of a run's artifacts: what counts as progress."""

import os

from fleet.runs.artifacts_digest import EMPTY, fingerprint


def test_only_other_content_is_progress(tmp_path):
    """A touch is none; a word, a new file and a deleted one are."""
    plan = tmp_path / "PLAN.md"
    plan.write_text("1. read")
    seen = [fingerprint(tmp_path)]
    os.utime(plan, (0, 0))
    assert fingerprint(tmp_path) == seen[0]
    plan.write_text("1. reed")
    seen.append(fingerprint(tmp_path))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/note").touch()
    seen.append(fingerprint(tmp_path))
    plan.unlink()
    seen.append(fingerprint(tmp_path))
    assert len(set(seen)) == 4


def test_what_is_no_file_does_not_stop_it(tmp_path):
    """A pipe, a link in a circle, a directory that is not there."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "self").symlink_to("self")
    assert fingerprint(tmp_path) == fingerprint(tmp_path)
    assert fingerprint(tmp_path / "none") == fingerprint(tmp_path / "none")


def test_large_files_are_told_apart_by_time(tmp_path):
    """Their content is not read."""
    large = tmp_path / "large"
    large.write_bytes(b"x" * (2 << 20))
    before = fingerprint(tmp_path)
    os.utime(large, (1, 1))
    assert fingerprint(tmp_path) != before


def test_artifacts_of_any_depth_have_a_digest(a_deep_tree):
    """The digest is made in the loop: what an agent digs must not end the supervisor."""
    assert fingerprint(a_deep_tree) != EMPTY
