"""Where other hosts would get a directory's code from, read from files alone."""

import pytest

from fleet.git.mirror.code_source import code_source, origin_url


@pytest.mark.parametrize(
    ("config", "url"),
    [
        (b'[remote "origin"]\n\turl = git@x:y.git\n', "git@x:y.git"),
        (b'[remote "origin"]\n\turl="https://x/y"\n', "https://x/y"),
        (b'[remote "only"]\n  URL = ssh://x/y\n', "ssh://x/y"),
        (b'[remote "a"]\n\turl = x\n[remote "b"]\n\turl = y\n', ""),
        (b'[remote "a"]\n\turl = x\n[remote "origin"]\n\turl = y\n', "y"),
        (b'[remote "origin"]\n[branch "main"]\n\turl = no\n', ""),
        (b"", ""),
        (b"\xff\xfe[remote", ""),
    ],
)
def test_the_address_is_origins_or_that_of_the_only_remote(config, url):
    """Of several others none is chosen for the user."""
    assert origin_url(config) == url


def test_a_directory_below_the_top_is_named_from_there(elsewhere):
    """Another host works in the same directory of its clone."""
    found = code_source(str(elsewhere.project.root / "src"))
    assert (found.url, found.commit) == (elsewhere.url, elsewhere.first)
    assert found.subdirectory == "src"
    assert code_source(str(elsewhere.project.root)).subdirectory == ""


@pytest.mark.parametrize("packed", [False, True])
def test_the_commit_is_read_from_loose_and_packed_refs(elsewhere, packed):
    """Both are what git leaves behind by itself."""
    if packed:
        elsewhere.project.git("pack-refs", "--all")
    assert code_source(str(elsewhere.project.root)).commit == elsewhere.first
    elsewhere.project.git("checkout", "-q", "--detach")
    assert code_source(str(elsewhere.project.root)).commit == elsewhere.first


@pytest.mark.parametrize("commit", ["--exec=evil", "HEAD", "", "0123", f"{'a' * 40} {'b' * 40}"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_stands_in_the_place_of_a_commit_is_no_commit(elsewhere, commit, packed):
    """An agent without a box can write the files of refs; other hosts give the commit to git."""
    root = elsewhere.project.root
    elsewhere.project.git("checkout", "-q", "-B", "odd")
    (root / ".git/refs/heads/odd").unlink()
    if packed:
        (root / ".git/packed-refs").write_text(f"{commit} refs/heads/odd\n")
    else:
        (root / ".git/refs/heads/odd").write_text(f"{commit}\n")
    assert code_source(str(root)).commit == ""


def test_a_repository_without_a_commit_or_a_remote_says_so(tmp_path, elsewhere):
    """Its tasks stay on the host that made them."""
    (tmp_path / "plain").mkdir()
    assert code_source(str(tmp_path / "plain")) is None
    elsewhere.project.git("remote", "remove", "origin")
    elsewhere.project.git("checkout", "-q", "--orphan", "new")
    found = code_source(str(elsewhere.project.root))
    assert (found.url, found.commit) == ("", "")


def test_a_password_stays_where_it_is(elsewhere):
    """The address is written into the queue."""
    found = code_source(str(elsewhere.project.root), "https://user:secret@git.example.org/app.git/")
    assert "secret" not in found.url
    assert found.url.endswith("git.example.org/app.git")
