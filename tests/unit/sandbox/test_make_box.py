"""What of a real directory tree ends up in a box."""

import os

import pytest

from fleet.errors import InvalidTask
from fleet.sandbox.make_box import make_box


@pytest.fixture
def user(tmp_path):
    """A home with keys, and a project beside it."""
    home = tmp_path / "op"
    for place in (".ssh", ".local/bin", "project"):
        (home / place).mkdir(parents=True)
    (home / ".netrc").write_text("canary")
    (tmp_path / "work").mkdir()
    return home


def boxed(user, **more):
    cwd = more.pop("cwd", str(user.parent / "work"))
    env = {"HOME": str(user), "PATH": os.environ["PATH"]}
    return make_box(env, cwd=cwd, **{"write": [cwd], **more})


def test_the_home_is_private_but_for_toolchains(user):
    """What is not opened is not there."""
    box = boxed(user)
    assert box.home == str(user)
    assert str(user / ".local/bin") in box.read
    assert str(user) not in (*box.read, *box.write)
    assert box.write == (str(user.parent / "work"),)


def test_keys_stay_hidden_in_an_opened_directory(user):
    """Only what an operator names itself is shown of them."""
    box = boxed(user, read=[str(user)])
    assert str(user / ".ssh") in box.hidden_directories
    assert str(user / ".netrc") in box.hidden_files


def test_a_hidden_directory_is_closed_around_what_is_open_in_it(user):
    """The home of fleet in an opened directory, and a run's artifacts in that home."""
    fleet = user.parent / "work/fleet"
    artifacts = fleet / "tasks/a/artifacts"
    artifacts.mkdir(parents=True)
    work = str(user.parent / "work")
    box = boxed(user, write=[work, str(artifacts)], hidden=[str(fleet)])
    assert str(fleet) in box.hidden_directories
    assert str(artifacts) in box.write


def test_a_workspace_that_holds_the_home_is_refused(user):
    """An agent that writes there writes what your shell runs."""
    with pytest.raises(InvalidTask, match="your home"):
        boxed(user, cwd=str(user))
    with pytest.raises(InvalidTask):
        boxed(user, cwd=str(user.parent))


def test_a_link_to_an_opened_directory_leads_there(user):
    """A home or project behind a link has the same path inside."""
    link = user.parent / "link"
    link.symlink_to(user.parent / "work")
    box = boxed(user, cwd=str(link))
    assert (str(link), str(user.parent / "work")) in box.links
    assert box.cwd == str(user.parent / "work")


def test_what_does_not_exist_is_left_out(user):
    """A setting for several machines names what only some of them have."""
    assert str(user / "nowhere") not in boxed(user, read=[str(user / "nowhere")]).read
