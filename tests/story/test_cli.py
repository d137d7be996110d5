"""The first hour of a new user, as real processes: init, settings, tasks, mistakes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.bd.fleet_flags import OWN
from fleet.sandbox.try_box import try_box
from tests import warm
from tests.conftest import need, only_slow
from tests.contract.beads_home import pristine_home

__all__ = ["pristine_home"]


class User:
    """Somebody at a shell, with a home of their own."""

    def __init__(self, root: Path) -> None:
        self.home = root / "fleet hôme"
        self.project = root / "my project"
        self.project.mkdir()
        self.starts_cold = False
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "FLEET_HOME": str(self.home),
            "BEADS_ACTOR": "ann",
            "LANG": "C.UTF-8",
        }

    def fleet(self, *args: str | bytes, cwd: Path | None = None, **env: str):
        start = warm.cold if self.starts_cold else warm.fleet
        return start(args, cwd=cwd or self.project, env={**self.env, **env}, timeout=60)

    def does(self, *args: str | bytes, **kwargs) -> str:
        """A command that must work; what it printed."""
        done = self.fleet(*args, **kwargs)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout.decode()

    def fails(self, *args: str | bytes, **kwargs) -> tuple[int, str]:
        """A command that must not work: its exit code and what it said."""
        done = self.fleet(*args, **kwargs)
        assert done.returncode != 0, (args, done.stdout)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done.returncode, done.stderr.decode()


@pytest.fixture
def user(tmp_path):
    return User(tmp_path)


@pytest.fixture
def ann(user):
    """A user with a home on the embedded queue."""
    user.does("init", "--queue", "embedded", "--sandbox", "off")
    return user


def test_init_makes_a_private_home_and_says_so(user):
    """A second init changes nothing."""
    user.starts_cold = True
    said = user.does("init", "--queue", "embedded", "--sandbox", "off")
    told = "Queue: embedded\nPermissions: edit\nSandbox: off\nWork in: clone\n"
    assert said.startswith(f"Fleet home initialized at {user.home}\n{told}")
    assert "In the project itself: fleet config set work_in=directory\nLanding: auto\n" in said
    assert said.endswith("To approve all: fleet config set land=ask\n")
    written = (user.home / "runtime.toml").read_text()
    for line in ('work_in = "clone"', 'land = "auto"', 'expect = "change"', 'sandbox = "off"'):
        assert f"{line} #" in written
    assert len(written.splitlines()) <= 12
    assert stat.S_IMODE(user.home.stat().st_mode) == 0o700
    before = {path: path.stat().st_mode for path in user.home.rglob("*")}
    config = (user.home / "runtime.toml").read_bytes()
    user.does("init")
    assert (user.home / "runtime.toml").read_bytes() == config
    assert {path: path.stat().st_mode for path in user.home.rglob("*")} == before


def test_init_writes_what_becomes_of_verified_work(user):
    """A new home lands it; a home keeps what it has; without a git that can, nothing lands."""
    user.does("init", "--queue", "embedded", "--sandbox", "off")
    assert 'land = "auto"' in (user.home / "runtime.toml").read_text()
    user.does("config", "set", "land=ask")
    assert "Landing: ask\n" in user.does("init")
    assert "Landing: branch\n" in user.does("init", "--land", "branch")
    text = (user.home / "runtime.toml").read_text()
    old = "".join(line for line in text.splitlines(True) if not line.startswith("land = "))
    (user.home / "runtime.toml").write_text(old)
    assert "Landing: auto\n" in user.does("init")  # the default
    (user.home.parent / "bin").mkdir()
    bare = {"FLEET_HOME": str(user.home.with_name("bare")), "PATH": str(user.home.parent / "bin")}
    user.env = {**user.env, **bare}
    assert "Landing: branch\n" in user.does("init", "--queue", "embedded", "--sandbox", "off")


def test_init_records_what_agents_may_do(user):
    """The least by default, what was asked for otherwise, and on a terminal it asks."""
    assert "Permissions: edit\n" in user.does("init", "--queue", "embedded")
    assert "Permissions: auto\n" in user.does("init", "--permissions", "auto")
    assert "Permissions: auto\n" in user.does("init")
    code, said = user.fails("init", "--permissions", "everything")
    assert (code, "bypass" in said) == (2, True)
    new = {**user.env, "FLEET_HOME": str(user.home.with_name("asked"))}
    ours, theirs = os.openpty()
    argv = [sys.executable, "-m", "fleet", "init", "--queue", "embedded", "--sandbox", "off"]
    os.write(ours, b"bypass\n")
    asked = subprocess.run(
        argv, env=new, stdin=theirs, capture_output=True, timeout=60, check=True
    ).stdout.decode()
    os.close(ours)
    os.close(theirs)
    assert "only on a machine that is a sandbox" in asked
    assert "Permissions: bypass\n" in asked


def test_init_boxes_agents_where_a_box_works(user, tmp_path):
    """A new home gets a box unasked where one works; where not, init says what to install."""
    works = try_box(os.environ).works
    said = user.does("init", "--queue", "embedded")
    assert ("Sandbox: workspace\nAgents run in a box" in said) is works
    user.does("config", "set", "sandbox=off")
    assert "Sandbox: off\n" in user.does("init")  # a home keeps its setting
    (tmp_path / "bin").mkdir()
    bare = {**user.env, "PATH": str(tmp_path / "bin")}
    user.env = {**bare, "FLEET_HOME": str(user.home.with_name("bare"))}
    assert "apt install bubblewrap" in user.does("init", "--queue", "embedded")
    user.env["FLEET_HOME"] = str(user.home.with_name("none"))
    _, why = user.fails("init", "--queue", "embedded", "--sandbox", "workspace")
    assert "apt install bubblewrap" in why
    assert not user.home.with_name("none").exists()


def test_init_takes_the_embedded_queue_where_there_is_no_bd(user, tmp_path):
    """And beads where there is one; the choice is written down."""
    (tmp_path / "bin").mkdir()
    user.env["PATH"] = str(tmp_path / "bin")
    assert "Queue: embedded" in user.does("init")
    assert 'queue = "embedded"' in (user.home / "runtime.toml").read_text()


def hand_over(user, pristine_home, folder):
    """The real bd, but for the seconds that making a database takes: it is handed one."""
    shim = folder / "bd"
    folder.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *"init --prefix"*) exec cp -R "{pristine_home}/.beads" "$BEADS_DIR";; esac\n'
        f'exec {need("bd")} "$@"\n'
    )
    shim.chmod(0o755)
    user.env["PATH"] = f"{folder}:{user.env['PATH']}"


@only_slow
def test_init_takes_beads_where_bd_is_on_the_path(user, pristine_home, tmp_path):
    """The real bd, in the home, and nowhere near the user's repository."""
    need("git")
    hand_over(user, pristine_home, tmp_path / "handed over")
    subprocess.run(["git", "init", "-q"], cwd=user.home.parent, check=True)
    before = sorted(path.name for path in (user.home.parent / ".git").rglob("*"))
    assert "Queue: beads" in user.does("init")
    made = user.does("bd", "create", "On beads", "--coder", "codex", "--model", "o3")
    assert made.endswith(f": On beads  [cwd: {user.project}, coder: codex, model: o3]\n")
    task_id = made.split()[1].rstrip(":")
    assert json.loads((user.home / "tasks" / task_id / "task.json").read_text()) == {
        "cwd": str(user.project),
        "coder": "codex",
        "model": "o3",
    }
    assert f"{task_id}  On beads  [{user.project}]" in user.does("ready")
    explained = user.does("bd", "create", "--help")
    assert explained.index("--acceptance") < explained.index("--max-cost"), explained
    assert "needs an argument: --verify" in user.fails("bd", "create", "t", "--verify")[1]
    assert sorted(path.name for path in (user.home.parent / ".git").rglob("*")) == before


def test_what_a_task_runs_with_can_be_changed_later(ann):
    """Only what is named; bd's own flags beside it work as ever, and a mistake changes nothing."""
    task_id = ann.does("bd", "create", "--silent", "One", "--verify", "make", "--timeout", "1h")
    task_id = task_id.strip()
    file = ann.home / "tasks" / task_id / "task.json"
    said = ann.does("bd", "update", task_id, "--budget", "$5", "--max-turns", "9", "-p", "1")
    assert "budget: $5" in said
    settings = json.loads(file.read_text())
    assert settings["verify"] == ["make"]
    assert settings["limits"] == {"time": 3600.0, "turns": 9}
    assert settings["cwd"] == str(ann.project)
    assert json.loads(ann.does("bd", "show", task_id, "--json"))[0]["priority"] == 1
    for line, says in (
        ((task_id, "--budget", "much"), "--budget"),
        ((task_id, "--title", "Two", "--account", "nobody"), "there is no account 'nobody'"),
        (("fleet-nope", "--budget", "$1"), "fleet-nope"),
        (("--budget", "$1"), "no task was named"),
        ((task_id, "--verify"), "flag needs an argument: --verify"),
    ):
        assert says in ann.fails("bd", "update", *line)[1]
    assert json.loads(file.read_text()) == settings
    shown = json.loads(ann.does("bd", "update", task_id, "--verify", "true", "--json"))
    assert shown[0]["title"] == "One"
    assert json.loads(file.read_text())["verify"] == ["true"]


def test_no_home_is_an_error_with_a_way_out(user):
    """Every command that needs one says how to make it; help needs none."""
    user.starts_cold = True
    for command in (("ready",), ("show", "x"), ("bd", "list"), ("config", "show")):
        code, said = user.fails(*command)
        assert (code, "Run: fleet init" in said) == (4, True)
    assert "Commands:" in user.does("bd", "--help")
    assert "Usage: fleet" in user.does("--help")


def test_a_task_remembers_where_it_was_made(ann):
    """create, ready and show agree on directory, coder and model."""
    made = ann.does("bd", "create", "--title", "Fix it", "--description", "a\nb")
    task_id = made.split()[1].rstrip(":")
    assert made == f"Created {task_id}: Fix it  [cwd: {ann.project}]\n"
    shown = ann.does("show", task_id)
    assert f"cwd:         {ann.project}\n" in shown
    assert "coder:       claude (default)\n" in shown
    assert "description:\n  a\n  b\n" in shown
    assert ann.does("show", task_id.removeprefix("fleet-")) == shown
    (raw,) = json.loads(ann.does("show", task_id, "--json"))
    assert raw["metadata"] == {"fleet": {"cwd": str(ann.project)}}
    (ready,) = json.loads(ann.does("ready", "--json"))
    assert (ready["cwd"], ready["overrides"]) == (str(ann.project), ["cwd"])


def test_create_takes_another_directory_and_keeps_its_own_flags_from_the_tracker(ann, tmp_path):
    """--cwd, --coder and --model are fleet's, wherever they stand; values are never flags."""
    (tmp_path / "other").mkdir()
    made = ann.does(
        "bd", "create", "--coder=agy", "-d", "--model", "--model", "GPT-OSS 120B",
        "--cwd", "../other", "Title",
    )  # fmt: skip
    assert f"[cwd: {tmp_path / 'other'}, coder: agy, model: GPT-OSS 120B]" in made.replace(
        str(ann.project / ".."), str(tmp_path)
    )
    (task,) = json.loads(ann.does("bd", "list", "--json"))
    assert task["description"] == "--model"


def test_a_coder_alone_comes_with_its_own_model(ann):
    """The configured model is the configured coder's; that coder keeps it."""
    ann.does("config", "set", "model=opus")
    other, same = (
        ann.does("bd", "q", "--coder", name, "t").strip() for name in ("codex", "claude")
    )
    assert "model:       o4-mini (codex's own)" in ann.does("show", other)
    assert "model:       opus" in ann.does("show", same)
    ann.does("bd", "update", other, "--coder", "agy", "--model", "GPT-OSS 120B")
    ann.does("bd", "update", other, "--coder", "codex")
    assert "model:       o4-mini (codex's own)" in ann.does("show", other)
    ann.does("config", "set", "coder=codex", "model=gpt-5")
    ann.does("bd", "update", same, "--coder", "agy")
    assert "gpt-5" not in ann.does("show", same)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("create",), "title is required"),
        (("create", ""), "title"),
        (("create", "--title", "  "), "title"),
        (("create", "t" * 501), "500 characters"),
        (("create", "--model", "gpt-5", "t"), "--model was given without --coder"),
        (("create", "--coder", "cluade", "--model", "x", "t"), "cluade"),
        (("create", "--cwd", "/no/such/dir", "t"), "no directory /no/such/dir"),
        (("create", "--cwd", "/etc/passwd", "t"), "not a directory"),
        (("create", "-p", "9", "t"), 'invalid priority "9"'),
        (("create", "--deps", "fleet-nope", "t"), "fleet-nope"),
        (("create", "--parent", "fleet-nope", "t"), "fleet-nope"),
        (("create", "--nonsense", "t"), "unknown flag: --nonsense"),
        (("create", "t", "--verify", ""), "--verify must not be empty"),
        (("create", "t", "--scope", " "), "--scope must not be empty"),
        (("create", "t", "--pin="), "--pin must not be empty"),
        (("create", "t", "--needs", ""), "--needs must not be empty"),
        (("create", "t", "--pin", "../x"), "leads out"),
        (("create", "t", "--timeout"), "Error: flag needs an argument: --timeout"),
        (("q", "--verify"), "Error: flag needs an argument: --verify"),
        (("create", "t", "--max-memory", "1"), "--max-memory: '1' is not a size between 1MB"),
        (("create", "t", "--max-tokens", "5 k"), "like 300, 50k or 2M"),
        (("create", b"\xff\xfe"), "not valid UTF-8"),
        (("show", "../../etc/passwd"), "no issue found"),
        (("frobnicate",), 'unknown command "frobnicate" for "bd"'),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_half_made(ann, line, says):
    """Bad input: a clear error, a non-zero exit, an empty queue, no stray directory."""
    _, said = ann.fails("bd", *line)
    assert says in said
    assert json.loads(ann.does("bd", "list", "--all", "--json")) == []
    assert list((ann.home / "tasks").iterdir()) == []


@pytest.mark.parametrize("line", [("create", "--help"), ("q", "-h"), ("help", "new"), ("--help",)])
def test_help_names_the_flags_that_are_fleets_own(ann, line):
    """All of them, though the tracker knows none."""
    said = ann.does("bd", *line)
    assert [flag.name for flag in OWN if f"--{flag.name} " not in said] == []
    assert "--max-cost" not in ann.does("bd", "list", "--help")


def test_limits_are_told_as_people_write_them(ann):
    """Not in seconds and bytes."""
    asked = ("--timeout", "90m", "--max-memory", "2GB", "--max-tokens", "5k", "--max-cost", "1.5")
    told = ann.does("bd", "create", "t", *asked)
    assert "max time: 1h30m, max tokens: 5,000, max cost: $1.5, max memory: 2GB]" in told


def test_text_is_never_markup_flag_or_escape(ann):
    """What a task is called is shown as it is, and cannot drive the terminal."""
    title = "[red]--help[/red] \x1b[31mred\x07 'q' \"Q\" $(x)"
    ann.does("bd", "create", "--", title)
    shown = ann.does("ready")
    assert "[red]--help[/red] \\x1b[31mred\\x07" in shown
    assert "\x1b" not in shown
    (task,) = json.loads(ann.does("bd", "list", "--json"))
    assert task["title"] == title


def test_ready_lists_what_can_start_and_apart_what_waits_all_the_same(ann):
    """And says that there is more than it lists."""
    first, second, third = (ann.does("bd", "q", title).strip() for title in ("x", "y", "z"))
    (ann.home / "tasks" / first / "task.json").write_text("{")
    shown = ann.does("ready")
    ready, _, waiting = shown.partition("Waiting:\n")
    assert second in ready
    assert first in waiting
    assert "more" not in shown
    assert "There are more: fleet ready --limit 4" in ann.does("ready", "--limit", "2")
    assert len(json.loads(ann.does("ready", "--limit", "2", "--json"))) == 2
    ann.does("bd", "close", second, third)
    assert ann.does("ready").startswith("No ready tasks.\nWaiting:\n")


def test_a_corrupt_task_json_is_shown_and_never_replaced(ann):
    """Ready and show name the file; the task does not move to another directory."""
    task_id = ann.does("bd", "q", "x").strip()
    (ann.home / "tasks" / task_id / "task.json").write_text("{")
    assert "is invalid" in ann.does("ready")
    assert "task.json" in ann.does("show", task_id)


def test_a_broken_configuration_stops_every_command_with_its_place(ann):
    """No command falls back to defaults."""
    with (ann.home / "runtime.toml").open("a") as file:
        file.write("x = = 1\n")
    line = (ann.home / "runtime.toml").read_text().count("\n")
    for command in (
        ("ready",),
        ("bd", "list"),
        ("bd", "create", "x"),
        ("config", "show"),
        ("init",),
    ):
        code, said = ann.fails(*command)
        assert (code, f"line {line}, column 5" in said) == (3, True), command
    assert "x = = 1" in ann.does("config", "show", "--raw")


def test_settings_are_checked_before_the_file_is_touched(ann):
    """A refused value leaves the file as it was, byte for byte."""
    before = (ann.home / "runtime.toml").read_bytes()
    bads = ("max_concurrent=0", "max_concurrent=abc", "max_concurent=3", "coder=nobody")
    for bad in (*bads, "memory_limit=8"):
        code, _ = ann.fails("config", "set", "model=opus", bad)
        assert code == 2
    assert "did you mean max_concurrent?" in ann.fails("config", "set", "max_concurent=3")[1]
    assert ann.fails("config", "set", "queue=oracle://x")[0] == 3
    assert (ann.home / "runtime.toml").read_bytes() == before
    assert ann.does("config", "set", "max_concurrent=5", 'model=a"b') == (
        'max_concurrent = 5\nmodel = a"b\n'
    )
    assert json.loads(ann.does("config", "show", "--json"))["model"] == 'a"b'


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("needs=foo",), "mcp:NAME"),
        (("verify=make", "pins=../x"), "leads out"),
        (("scope=../x",), "leads out"),
        (("pins=/etc",), "leads out"),
        (("coder=codex",), "known: verify, pins"),
        (("frob=1",), "known: verify, pins"),
        (("turn_limit+=1",), "is no list"),
        ((b"verify=\xff",), "not valid UTF-8"),
    ],
)
def test_no_setting_of_a_project_makes_a_file_that_cannot_be_read(ann, words, says):
    """What `load` would refuse is refused before it is written."""
    before = (ann.home / "runtime.toml").read_bytes()
    code, said = ann.fails("config", "set", "--project", ".", *words)
    assert (code, says in said) == (2, True), said
    assert (ann.home / "runtime.toml").read_bytes() == before
    ann.does("ready")


def test_a_project_can_do_without_what_it_set(ann):
    """`KEY=` takes a value out; the lines of one call make a list, and `KEY+=` adds one."""
    mine = ("config", "set", "--project", ".")
    ann.does(*mine, "turn_limit=5", "verify=one", "verify=two", "scope=/src/**")
    ann.does(*mine, "turn_limit=", "verify=only", "cost_limit=", "scope+=/doc/**", "pins+=a")
    (project,) = json.loads(ann.does("config", "show", "--json"))["projects"].values()
    assert (project["settings"], project["verify"]) == ({}, ["only"])
    assert (project["scope"], project["pins"]) == (["/src/**", "/doc/**"], ["a"])
    said = ann.does(*mine, "verify=make test", "scope=")
    assert "verify = make test" in said
    assert "(before: only)" in said, "what was replaced is told: it can be set again"
    (project,) = json.loads(ann.does("config", "show", "--json"))["projects"].values()
    assert (project["verify"], project["scope"]) == (["make test"], [])


def test_a_project_that_is_not_there_is_told_by_its_flag(ann):
    """The hint names what was typed."""
    _, said = ann.fails("config", "set", "--project", "/no/such/dir", "verify=make")
    assert "another --project" in said


def test_a_password_in_the_queue_address_is_not_shown(ann):
    """`config show` is what people paste into bug reports."""
    ann.does("config", "set", "queue=postgresql://me:s3cret@localhost/fleet")
    shown = ann.does("config", "show")
    assert "s3cret" not in shown
    assert "postgresql://me:***@localhost/fleet" in shown


def test_a_home_that_others_can_write_to_is_refused(ann):
    """By every command."""
    ann.home.chmod(0o777)
    code, said = ann.fails("ready")
    assert code == 4
    assert "chmod 700" in said


def test_a_read_only_home_gives_a_clear_error(ann):
    """Nothing is half-made on a disk that cannot be written."""
    if os.getuid() == 0:
        pytest.skip("root may write anywhere")
    ann.home.chmod(0o500)
    code, _ = ann.fails("bd", "create", "x")
    assert code == 5


def test_doctor_finds_what_is_wrong_and_says_how_to_mend_it(ann):
    """Exit code by severity; --json for machines."""
    programs = ann.home.parent / "bin"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\necho 2.0.1\n")
    (programs / "claude").chmod(0o755)
    ann.env["PATH"] = f"{programs}:{ann.env['PATH']}"
    ann.env["CLAUDE_CODE_OAUTH_TOKEN"] = "a login"
    person = "[user]\nname = Ann\nemail = ann@example.org\n"
    (ann.home.parent / ".gitconfig").write_text(person)
    done = ann.fleet("doctor", "--json")
    wrong = {f["check"]: f["severity"] for f in json.loads(done.stdout) if f["severity"] != "ok"}
    no_box = try_box(ann.env).problem
    assert wrong == ({"sandbox": "warning"} if no_box else {})
    assert done.returncode == (2 if no_box else 0)
    (ann.home / "queue.db").write_bytes(b"not a database, but long enough to look like one" * 50)
    done = ann.fleet("doctor", "--json")
    assert done.returncode == 1
    bad = [f for f in json.loads(done.stdout) if f["severity"] == "error"]
    assert [finding["check"] for finding in bad] == ["queue"]
    assert "fleet queue restore" in bad[0]["fix"]


@pytest.mark.parametrize(
    ("to", "code", "said"),
    [
        ("| true", 141, b""),
        ("> /dev/full", 1, b"Error: No space left on device\n"),
        (">&-", 1, b""),  # as no supervisor runs
    ],
)
def test_what_cannot_be_printed_is_no_traceback(ann, to, code, said):
    """`fleet tasks --json | head -1` ends as a program does whose reader has ended."""
    python = f"{sys.executable} -m fleet status"
    wait = "{ sleep 0.2; " + python + "; }" if "|" in to else python
    line = f"set -o pipefail; {wait} {to}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=ann.project, env=ann.env, stderr=subprocess.PIPE, timeout=60
    )
    assert (done.returncode, done.stderr) == (code, said)


def test_moving_house_loses_nothing(ann, tmp_path):
    """Export here, import there: ids, dependencies, comments, labels, directory, coder, model."""
    first = ann.does("bd", "q", "first").strip()
    second = ann.does(
        "bd", "create", "second", "--silent", "--deps", first, "-l", "a,b", "--coder", "codex",
        "--model", "o3", "--acceptance", "works", "--notes", "n", "-p", "0",
    ).strip()  # fmt: skip
    ann.does("bd", "comment", second, "look\nhere")
    ann.does("bd", "close", first, "--reason", "done")
    file = tmp_path / "all.jsonl"
    ann.does("bd", "export", "-o", str(file))
    new = {"FLEET_HOME": str(tmp_path / "new home")}
    ann.does("init", "--queue", "embedded", **new)
    ann.does("bd", "import", str(file), **new)
    for command in (("bd", "show", first, second, "--include-comments", "--json"),
                    ("bd", "list", "--all", "--json")):  # fmt: skip
        assert ann.does(*command, **new) == ann.does(*command)
    assert "coder:       codex\n" in ann.does("show", second, **new)
    assert f"cwd:         {ann.project}\n" in ann.does("show", second, **new)


def test_an_edited_task_json_moves_house_too(ann, tmp_path):
    """What a person changed by hand is what is exported."""
    task_id = ann.does("bd", "q", "x").strip()
    edited = {"cwd": str(tmp_path), "coder": "agy", "model": "opus"}
    (ann.home / "tasks" / task_id / "task.json").write_text(json.dumps(edited))
    exported = json.loads(ann.does("bd", "export"))
    assert exported["metadata"]["fleet"] == edited


def test_one_broken_task_json_does_not_stop_an_export(ann):
    """A backup must be had; the task travels as it was made, and the file is named."""
    task_id = ann.does("bd", "q", "x").strip()
    (ann.home / "tasks" / task_id / "task.json").write_text("{")
    done = ann.fleet("bd", "export")
    assert done.returncode == 0
    assert b"task.json" in done.stderr
    assert json.loads(done.stdout)["metadata"]["fleet"] == {"cwd": str(ann.project)}


def test_debug_shows_where_an_error_comes_from(user):
    """And nothing else does."""
    done = user.fleet("--debug", "ready")
    assert done.returncode == 1
    assert b"Traceback" in done.stderr


@pytest.mark.parametrize(
    "command", [("ready",), ("show", "x"), ("tasks",), ("status",), ("bd", "list")]
)
def test_the_frequent_commands_load_nothing_heavy(ann, command):
    """click, rich, asyncio and the like cost more than the whole command."""
    heavy = [
        "click",
        "rich",
        "asyncio",
        "importlib.metadata",
        "logging",
        "psycopg",
        "textual",
        "starlette",
        "tomlkit",
        "subprocess",
        "tempfile",
        "configparser",
        "textwrap",
        "fleet.spool.agent_mcp.tool_server",
    ]
    assert loaded(ann, command, heavy) == "[]"


def test_what_msgspec_loads_late_is_whole_when_it_is_used():
    """A short command leaves these modules out; a long one needs what they have."""
    code = (
        "from fleet.__main__ import load_msgspec\n"
        "load_msgspec()\n"
        "import ipaddress, platform, sys, uuid\n"
        "import msgspec\n"
        "late = [type(sys.modules[each]).__name__ for each in"
        " ('ipaddress', 'platform', 'msgspec.inspect', 'msgspec._json_schema')]\n"
        "print(late == ['LateModule'] * 4, ipaddress.ip_address('::1').is_loopback,"
        " platform.system() == platform.uname().system, msgspec.json.schema(int),"
        " msgspec.inspect.type_info(str).max_length, uuid.UUID(int=1).int,"
        " 'LateModule' in str(type(sys.modules['ipaddress'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True {'type': 'integer'} None 1 False\n"


@pytest.mark.parametrize("command", [("questions",), ("tasks", "--all")])
def test_what_only_looks_does_not_load_the_lander(ann, command):
    """A look took twice as long with the lander and all forges."""
    heavy = ["fleet.landing.land_target", "fleet.forge.connect"]
    assert loaded(ann, command, heavy) == "[]"


def loaded(ann, command, names):
    """Which of these modules a command loads."""
    code = (
        "import sys, runpy\n"
        f"sys.argv = ['fleet', *{command!r}]\n"
        "try: runpy.run_module('fleet', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print(sorted(set({names!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ann.env, capture_output=True, timeout=60, check=False
    )
    return done.stderr.decode().splitlines()[-1]


def test_a_home_never_names_a_queue_that_could_not_be_opened(ann):
    """A mistyped address leaves the queue that works in charge, and its tasks in sight."""
    ann.does("bd", "create", "still here")
    code, said = ann.fails("init", "--queue", "postgresql://ann:s3cret@127.0.0.1:1/none")
    assert code == 5
    assert "s3cret" not in said
    assert "still here" in ann.does("ready")


def test_no_password_is_shown_in_an_address_of_no_queue(ann):
    """A database that fleet does not know has one all the same."""
    for command in (("init", "--queue"), ("config", "set")):
        address = "mysql://ann:s3cret@host/db"
        last = address if command[0] == "init" else f"queue={address}"
        _, said = ann.fails(*command, last)
        assert "mysql://ann:***@host/db" in said
        assert "s3cret" not in said


def test_a_title_can_be_listed_wherever_its_letters_cannot_be_shown(ann):
    """On an old terminal a letter is an escape, not the end of the list."""
    ann.does("bd", "create", "日本")
    ann.does("bd", "create", "after it")
    ann.starts_cold = True  # Python itself reads what a terminal can show
    for command in (("ready",), ("bd", "list"), ("bd", "list", "--json")):
        shown = ann.does(*command, PYTHONIOENCODING="latin-1")
        assert "\\u65e5\\u672c" in shown
        assert "after it" in shown


def test_a_file_that_cannot_be_written_is_an_error_in_a_sentence(ann):
    """A directory of the wrong kind stands in for a full or read-only disk."""
    (ann.home / "paused").mkdir()
    code, said = ann.fails("resume")
    assert code == 1
    assert said.startswith("Error: ")
    assert "paused" in said


def test_a_task_that_was_made_is_told_of_even_without_its_task_json(ann):
    """An error would have the user make it twice; the queue knows its directory anyway."""
    (ann.home / "tasks").rmdir()
    (ann.home / "tasks").write_text("in the way")
    done = ann.fleet("bd", "create", "made")
    assert done.returncode == 0
    assert done.stdout.startswith(b"Created fleet-")
    assert b"Warning: fleet-" in done.stderr


def test_an_empty_directory_is_not_this_one(ann):
    """`--cwd "$UNSET"` must not send an agent to wherever the script stands."""
    code, said = ann.fails("bd", "create", "x", "--cwd", "")
    assert (code, said) == (2, "Error: --cwd must not be empty\n")


def test_a_task_can_be_made_for_another_directory_from_one_that_is_gone(ann, tmp_path):
    """Where the shell stands does not matter then."""
    (gone := tmp_path / "gone").mkdir()
    script = 'rmdir "$PWD" && exec "$0" -m fleet bd create x --cwd /'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable],
        cwd=gone, env=ann.env, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"[cwd: /]\n")


def test_doctor_says_that_the_coder_of_every_task_is_not_there(ann, tmp_path):
    """Otherwise the first `fleet run` blocks them all, one by one."""
    (tmp_path / "bin").mkdir()
    done = ann.fleet("doctor", "--json", PATH=str(tmp_path / "bin"))
    assert done.returncode == 1
    (coder,) = [f for f in json.loads(done.stdout) if f["check"] == "coder"]
    assert (coder["severity"], coder["what"]) == (
        "error",
        "claude: claude is not on PATH; no other coder can run here either",
    )
    assert "Install claude" in coder["fix"]


def test_a_home_that_is_a_file_is_called_one(user):
    """`fleet init`, the usual advice, would not help."""
    user.home.write_text("")
    code, said = user.fails("ready")
    assert (code, said) == (4, f"Error: {user.home} is a file\nSet FLEET_HOME elsewhere.\n")


def test_a_setting_is_one_line(ann):
    """A model that came with its newline would be found out by the agent only."""
    code, said = ann.fails("config", "set", "model=opus\n")
    assert (code, said) == (2, "Error: model must be one line without control characters\n")
