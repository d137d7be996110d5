"""The home's safety, task.json, and atomic writes."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import BadInput, HomeError, InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.home import Home, home_from, make_home, open_home, task_json
from fleet.schemas import Settings, check_id


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "hôme of fleet")
    make_home(home)
    return home


def test_a_new_home_is_for_its_owner_only(home):
    """Prompts and transcripts lie there; no other user may look."""
    for path in (home.path, home.tasks, home.logging):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_home_that_others_can_write_to_is_refused(home, mode):
    """A user who can write there can run commands as the owner."""
    home.path.chmod(mode)
    with pytest.raises(HomeError, match="others can write"):
        make_home(home)
    with pytest.raises(HomeError, match="others can write"):
        open_home(home)
    home.path.chmod(0o700)


def test_a_home_that_is_a_file_is_refused(tmp_path):
    """The error says so instead of failing half-way."""
    (tmp_path / "home").write_text("")
    with pytest.raises(HomeError, match="is a file"):
        make_home(Home(tmp_path / "home"))


def test_without_any_home_the_error_says_what_to_set():
    """An empty environment is no reason for a traceback."""
    with pytest.raises(HomeError, match="FLEET_HOME"):
        home_from({})


@pytest.mark.parametrize(
    "bad", ["../x", "a/b", "", ".", "..", "-x", "a\0b", "a b", "ä", "x" * 200, "a..b"]
)
def test_an_id_that_could_leave_the_home_is_refused(bad):
    """Ids become file names."""
    with pytest.raises(BadInput):
        check_id(bad)


def test_settings_come_back_as_written(home):
    """cwd, coder and model are kept whole, with any letters."""
    settings = Settings(cwd="/tmp/é 漢", coder="agy", model='GPT-OSS "120B"')
    task_json.write(home, "fleet-a", settings)
    assert task_json.read(home, "fleet-a") == settings
    assert task_json.read(home, "fleet-none") is None


def test_a_task_json_of_the_original_is_understood(home):
    """Extra keys of other versions do no harm."""
    home.task("fleet-a").mkdir()
    (home.task("fleet-a") / "task.json").write_text('{"cwd": "/tmp", "status": "open", "id": "x"}')
    assert task_json.read(home, "fleet-a") == Settings(cwd="/tmp")


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'{"cwd": 3}', b'{"cwd": "relative"}', b"\xff", b'{"cwd": "/t'],
)
def test_a_corrupt_task_json_makes_the_task_invalid(home, raw):
    """It is never read as `no settings`: the agent would work in the wrong directory."""
    home.task("fleet-a").mkdir()
    (home.task("fleet-a") / "task.json").write_bytes(raw)
    with pytest.raises(InvalidTask, match="fleet-a"):
        task_json.read(home, "fleet-a")


@given(st.integers(0, 60))
def test_a_truncated_task_json_is_never_taken_for_a_whole_one(tmp_path_factory, cut):
    """Whatever a crash of another program left, it is whole or invalid."""
    home = Home(tmp_path_factory.mktemp("home"))
    make_home(home)
    task_json.write(home, "t-1", Settings(cwd="/srv/project", coder="claude", model="opus"))
    file = home.task("t-1") / "task.json"
    raw = file.read_bytes()
    file.write_bytes(raw[:cut])
    if cut >= len(raw.rstrip()):
        assert task_json.read(home, "t-1") is not None
    else:
        with pytest.raises(InvalidTask):
            task_json.read(home, "t-1")


def test_a_task_json_that_is_no_file_is_refused_at_once(home):
    """A pipe or a link in its place neither hangs nor leads elsewhere."""
    directory = home.task("fleet-a")
    directory.mkdir()
    os.mkfifo(directory / "task.json")
    with pytest.raises(InvalidTask):
        task_json.read(home, "fleet-a")
    (directory / "task.json").unlink()
    (directory / "task.json").symlink_to("/etc/hostname")
    with pytest.raises(InvalidTask):
        task_json.read(home, "fleet-a")


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    """Half a file is worse than none."""
    file = tmp_path / "f"
    write_atomically(file, b"old")
    with pytest.raises(TypeError):
        write_atomically(file, "not bytes")  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
