"""What `fleet host add` runs on the other machine, with whatever Python that has."""

import io
import tarfile

from fleet.control.hosts.add import setup_there


def archive_of(**files):
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return io.BytesIO(packed.getvalue())


def test_wheels_are_unpacked_by_any_python(tmp_path, monkeypatch):
    """Python 3.11 before 3.11.4, as Debian 12 has it, extracts without a filter or not at all."""
    monkeypatch.delattr(tarfile.TarFile, "extractall")
    (folder := tmp_path / "in").mkdir()
    setup_there._unpack(archive_of(**{"a.whl": b"1", "../b.whl": b"2"}), folder)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        "a.whl": b"1", "b.whl": b"2",
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [folder]
