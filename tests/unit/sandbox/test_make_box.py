"""What of a real directory tree ends up in a box."""

import os

import pytest

from fleet.errors import InvalidTask
from fleet.sandbox.bwrap_argv import Mount
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


@pytest.mark.parametrize("inside", ["", "/state", "/state/projects"])
def test_what_a_mount_replaces_is_opened_for_writing_by_nothing_else(user, inside):
    """An agent could move the directory around the mount, and write what your own CLI obeys."""
    place = user.parent / "shared"
    (place / "state/projects").mkdir(parents=True)
    own = Mount(source=str(user.parent / "work"), target=str(place / "state"), write=True)
    with pytest.raises(InvalidTask, match="your own CLI"):
        boxed(user, mounts=[own], write=[str(user.parent / "work"), f"{place}{inside}"])


def test_a_link_in_the_users_state_opens_no_key(user):
    """An agent without a box may have made it."""
    state, fleet = user / ".claude", user.parent / "fleet"
    for folder in (state, fleet, user / "dotfiles/rules"):
        folder.mkdir(parents=True)
    (state / ".credentials.json").write_text("canary")
    led = (user / ".ssh", user / ".netrc", fleet, user, user.parent, state)
    login = state / ".credentials.json"
    mounts = [
        Mount(source=str(user.parent / "work"), target=str(state), write=True),
        *(Mount(source=str(to), target=f"{state}/rules/{n}") for n, to in enumerate((*led, login))),
        Mount(source=str(user / "dotfiles/rules"), target=f"{state}/rules/own"),
        Mount(source=f"{state}/settings.json", target=f"{state}/settings.json"),
    ]
    box = boxed(user, mounts=mounts, hidden=[str(fleet), str(login)], read=[str(user)])
    shown = [mount.target for mount in box.mounts]
    assert shown == [str(state), f"{state}/rules/own", f"{state}/settings.json"]
    assert str(login) not in box.hidden_files, "the box has a login of its own there"
    assert str(user / ".ssh") in box.hidden_directories


def test_a_state_that_is_not_there_yet_can_be_replaced_in_an_opened_home(user):
    """A read-only directory takes no new one."""
    own = Mount(source=str(user.parent / "work"), target=str(user / ".codex"), write=True)
    boxed(user, mounts=[own])
    assert not (user / ".codex").exists()
    boxed(user, mounts=[own], read=[str(user)])
    assert (user / ".codex").is_dir()
