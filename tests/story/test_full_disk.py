"""A disk that is full under a running fleet."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from itertools import count

import psutil
import pytest

from fleet.control.notify.outbox import Outbox
from fleet.runs.outcome_history import history
from fleet.sandbox.try_box import try_box
from tests.conftest import missing
from tests.notify_fakes.telegram import TelegramFake
from tests.repos import Repo
from tests.story.scene import Scene, processes_of
from tests.story.test_box import CODER, END, TOOL
from tests.story.test_notify import ADA, ask, notifier, with_telegram

#: The first run works for ever, the next one ends well.
ENDLESS = "mark:here tool await:never | tool done end"

#: Commits and claims to be done, in this order or the other way round, and waits in between.
AGENT = """
{first}
touch "$FLEET_ARTIFACT_DIR/waits"
while [ -e "$FLEET_ARTIFACT_DIR/waits" ]; do sleep 0.05; done
{last}
"""
WORK = """
echo work > "$FLEET_TASK_ID"
git add . && git -c user.name=A -c user.email=a@example.org commit -qm work >&2
"""
CLAIM = 'bd close "$FLEET_TASK_ID" --reason "did it" >&2'


@pytest.fixture
def scene(tmp_path):
    """A home on a small disk of its own."""
    options = "size=300m,nr_inodes=30k"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    scene = Scene(tmp_path)
    yield scene
    scene.close()
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(root):
    """Leave not a byte."""
    fd = os.open(root / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with suppress(OSError):
        while True:
            os.write(fd, bytes(1 << 20))
    with suppress(OSError):
        while True:
            os.write(fd, b"x")
    os.close(fd)


def test_a_full_disk_neither_holds_the_supervisor_nor_costs_an_attempt(scene, tmp_path):
    """Two signals did not end it, it printed a line a second and run, and the task paid."""
    task = scene.add(ENDLESS)
    read, write = os.pipe()
    scene.screen_to(write)
    supervisor = scene.supervise()
    os.close(write)
    scene.until_marked(task, "here")
    said = b""
    fill(tmp_path)
    supervisor.send_signal(signal.SIGTERM)
    while b"stopping the agents" not in said:
        said += os.read(read, 4096)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(30) == 0
    while more := os.read(read, 4096):
        said += more
    assert said.count(b"No space left") <= 1
    (tmp_path / "ballast").unlink()
    scene.screen_to(None)
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert history(scene.folder(task)).attempts == 0


def test_output_that_finds_no_room_costs_no_attempt(scene, tmp_path):
    """The stream does not tell how the agent ended, and the machine is to blame for that."""
    task = scene.add("mark:here await:go count:100 exit:0 | tool done end")
    supervisor = scene.supervise("--until-idle")
    scene.until_marked(task, "here")
    fill(tmp_path)
    (scene.folder(task) / "go").touch()
    (run,) = scene.runs(task)
    with pytest.raises(AssertionError):
        scene.until(run.exit, patience=12)  # the record finds no room either
    (tmp_path / "ballast").unlink()
    assert scene.until_ended(supervisor) == 0
    assert "No space left" in run.exit().short
    assert scene.status(task) == "closed"
    found = history(scene.folder(task))
    assert (len(scene.runs(task)), found.attempts) == (2, 0)


def use_up_inodes(root):
    """Leave bytes, and not one more file."""
    (root / "ballast").mkdir()
    with suppress(OSError):
        for number in count():
            (root / f"ballast/{number}").touch()


def free(root):
    ballast = root / "ballast"
    shutil.rmtree(ballast) if ballast.is_dir() else ballast.unlink()


class Six:
    """Six tasks in clones of one project, of which three are at work."""

    def __init__(self, scene, first, last):
        self.scene = scene
        repo = Repo(scene.project)
        repo.put("agent.sh", f"{TOOL}\n{AGENT.format(first=first, last=last)}\n{END}\n")
        repo.git("add", "-A")
        repo.git("commit", "-qm", "first")
        verify = ('test -n "$(ls fleet-*)" && cp agent.sh copy && cmp agent.sh copy',)
        wishes = {"coder": "script", "verify": verify}
        self.tasks = [scene.add("agent.sh", **wishes) for _ in range(6)]
        self.supervisor = scene.supervise("--until-idle")
        scene.until(lambda: len(self.at_work) == 3)

    @property
    def at_work(self):
        found = [self.scene.folder(task) / "artifacts/waits" for task in self.tasks]
        return [each for each in found if each.exists()]

    @property
    def agents(self):
        """The command lines of the agents' processes."""
        found = []
        for process in processes_of(self.scene.home.path):
            with suppress(psutil.NoSuchProcess):
                found.append(process.cmdline())
        return [each for each in found if "agent.sh" in each]

    def go_on(self):
        for each in self.at_work:
            each.unlink()

    def until_ended(self, supervisor):
        """Have all agents go on, also those that begin now."""
        self.scene.until(lambda: self.go_on() or supervisor.poll() is not None, patience=90)


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize(
    ("level", "shortage", "first", "last"),
    [
        ("off", fill, WORK + CLAIM, ""),
        ("off", use_up_inodes, "", WORK + CLAIM),
        ("workspace", fill, "", WORK + CLAIM),
        ("workspace", use_up_inodes, CLAIM, WORK),
    ],
)
def test_work_that_ends_on_a_full_disk_is_judged_once_there_is_room(
    scene, tmp_path, level, shortage, first, last, stops
):
    """It was called out of scope, as git could not write, and a person had to retry each task."""
    if level != "off" and not try_box(os.environ).works:
        missing("bwrap")
    scene.coder("script", CODER)
    scene.configure(coder="script", sandbox=level, max_concurrent=3, land="auto")
    six = Six(scene, first, last)
    supervisor = six.supervisor
    shortage(tmp_path)
    if stops:
        supervisor.terminate()
        assert supervisor.wait(30) == 0
    else:
        six.go_on()
        scene.until(lambda: not six.agents)
        time.sleep(1)  # enough for a supervisor that judges all the same
    free(tmp_path)
    if stops:
        supervisor = scene.supervise("--until-idle")
    six.until_ended(supervisor)
    found = [scene.status(task) for task in six.tasks]
    assert found == ["closed"] * 6, scene.screen()
    assert [history(scene.folder(task)).attempts for task in six.tasks] == [0] * 6


class FillsTheDisk(TelegramFake):
    """Takes the first message, and leaves no room to note that it did."""

    def __init__(self, root):
        super().__init__()
        self._root = root

    def answer(self, method, path, body):
        answer = super().answer(method, path, body)
        if path.endswith("/sendMessage") and self._root is not None:
            fill(self._root)
            self._root = None
        return answer


def test_a_full_disk_under_the_outbox_loses_nothing_and_sends_nothing_twice(scene, tmp_path):
    """What a channel took is not sent again because it could not be noted; a person is told past
    the outbox, the answer counts, and all goes on when there is room.
    """
    fake = FillsTheDisk(tmp_path)
    with_telegram(scene, fake)
    task = ask(scene)
    process = notifier(scene)
    fake.until(lambda: any("nothing can be told" in each["text"] for each in fake.sent))
    first = fake.sent[0]
    fake.say(ADA, "SQLite", reply_to=first["message_id"])  # it cannot be written down yet
    (tmp_path / "ballast").unlink()
    scene.until_status(task, "open")
    outbox = Outbox(scene.home)
    scene.until(lambda: all(each.waiting == 0 for each in outbox.states()))
    outbox.close()
    assert "SQLite" in (scene.folder(task) / "artifacts/Q&A.md").read_text()
    assert [each["text"] for each in fake.sent].count(first["text"]) == 1
    second = ask(scene, "And then?")
    fake.until(lambda: any(second in each["text"] for each in fake.sent))
    assert process.poll() is None
    assert scene.screen().count("disk is full") <= 3
    fake.close()
