"""Known bytes in a kept file are overwritten in place."""

import os

from fleet.files import overwrite as module
from fleet.files.overwrite import overwrite

SECRET = b"sk-0123456789"


def test_every_occurrence_goes_and_every_offset_stays(tmp_path, monkeypatch):
    """Events name places in the stream, so that the stream keeps its length."""
    monkeypatch.setattr(module, "_CHUNK", 16)
    path = tmp_path / "stdout"
    before = b"ab" * 7 + SECRET + b"\n" + SECRET + SECRET + b" tail " * 9 + SECRET
    path.write_bytes(before)
    assert overwrite(path, [SECRET]) >= 4
    assert path.read_bytes() == before.replace(SECRET, b"*" * len(SECRET))
    assert overwrite(path, [SECRET]) == 0


def test_a_link_and_a_pipe_are_left_alone(tmp_path):
    """An agent could have the file of another run, or of the user, overwritten."""
    target = tmp_path / "precious"
    target.write_bytes(SECRET)
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "none"):
        assert overwrite(tmp_path / name, [SECRET]) == 0
    assert target.read_bytes() == SECRET
