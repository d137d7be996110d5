"""Code is loaded only from files that a person listed, with the content that the person saw."""

import os

import pytest

from fleet import coders
from fleet.coders import trusted_files
from fleet.coders.trusted_files import Untrusted
from fleet.errors import BadInput
from tests.builders import NOW, trust_coders

EVIL = "import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"
DECLARED = 'argv = ["mine", "{prompt}"]\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "coders").mkdir()
    return tmp_path / "coders"


@pytest.mark.parametrize(("name", "text"), [("evil.py", EVIL), ("evil.toml", DECLARED)])
def test_a_file_that_no_person_trusted_is_not_loaded(folder, name, text):
    """An agent that can write a file into the home cannot run it inside the supervisor."""
    (folder / name).write_text(text)
    with pytest.raises(Untrusted, match="fleet coders trust evil"):
        coders.find("evil", folder.parent)
    assert "is not trusted" in coders.problems(folder.parent)["evil"]
    assert not (folder / "ran").exists()
    assert trusted_files.untrusted(folder.parent) == ["evil"]


def test_a_file_that_was_changed_since_is_not_loaded(folder):
    """Not even where its size and times are as before."""
    path = folder / "mine.toml"
    path.write_text(DECLARED)
    trust_coders(folder.parent)
    assert coders.find("mine", folder.parent).program == "mine"
    before = path.stat()
    path.write_text(DECLARED.replace("mine", "evil"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(Untrusted, match="was changed since"):
        coders.find("mine", folder.parent)
    trust_coders(folder.parent)
    assert coders.find("mine", folder.parent).program == "evil"


def test_trust_is_for_the_named_files_alone(folder):
    """The others stay as they were, trusted or not."""
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(DECLARED)
    trusted_files.trust(folder.parent, ["one"], NOW)
    assert trusted_files.untrusted(folder.parent) == ["two"]
    trusted_files.trust(folder.parent, ["two.toml"], NOW)
    assert trusted_files.untrusted(folder.parent) == []
    with pytest.raises(BadInput, match="three"):
        trusted_files.trust(folder.parent, ["three"], NOW)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path)])
def test_what_is_no_file_is_told_by_name(folder, make):
    """Nothing waits for a pipe."""
    make(folder / "odd.py")
    with pytest.raises(BadInput, match=r"odd\.py"):
        coders.find("odd", folder.parent)
