"""`fleet bd` on beads: the user's words reach bd as they are, and bd's answer reaches the user."""

import io
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest

from fleet.bd.beads_create import create
from fleet.bd.beads_forward import forward
from fleet.bd.callers_files import located
from fleet.errors import BadInput, QueueBusy, QueueUnavailable
from fleet.queue.beads.bd_cli.bd_client import BdClient, environment
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Settings
from tests.builders import a_program

HERE = Settings(cwd="/srv/project", coder="agy", model="opus")


def quiet(queue):
    while queue.wait(timedelta(0)):
        pass


class TestForward:
    def test_arguments_streams_and_exit_code_are_bds(self, beads, tmp_path):
        """Nothing is added, split or dropped, and bd runs in the home on the home's database."""
        bd = a_program(
            tmp_path / "told-bd",
            'printf "%s|" "$@" "$PWD" "$BEADS_DIR"; cat; echo oops >&2; exit 13',
        )
        out, err, source = (tmp_path / name for name in ("out", "err", "in"))
        source.write_text("typed")
        with out.open("w") as stdout, err.open("w") as stderr, source.open() as stdin:
            code = forward(
                beads.home,
                ["list", "--title", "a  b", "", "--", "-x"],
                bd=bd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        assert code == 13
        expected = ["list", "--title", "a  b", "", "--", "-x", str(beads.home), str(beads.beads)]
        assert out.read_text() == "|".join([*expected, "typed"])
        assert err.read_text() == "oops\n"

    @pytest.mark.parametrize(
        ("line", "reached"),
        [
            ("export -o tasks.jsonl --all", "export --output={here}/tasks.jsonl --all"),
            ("import ../tasks.jsonl", "import {above}/tasks.jsonl"),
            ("--json import --dedup -- a b", "--json import --dedup -- {here}/a {here}/b"),
            ("import -", "import -"),
            ("import -i x", "import --input={here}/x"),
            ("comment x -f y", "comment x --file={here}/y"),
            ("close x --reason-file=/tmp/y", "close x --reason-file=/tmp/y"),
            ("update x --metadata @m.json", "update x --metadata=@{here}/m.json"),
            ("-C /srv export -o x", "-C /srv export -o x"),
            ("new-verb -o x", "new-verb -o x"),
        ],
    )
    def test_files_are_the_callers(self, tmp_path, line, reached):
        """Bd runs in the home; a relative name means the directory that the line was typed in."""
        here = tmp_path / "work"
        here.mkdir()
        expected = reached.format(here=here, above=tmp_path).split()
        assert located(line.split(), here) == expected

    def test_an_export_lies_where_it_was_asked_for(self, beads, tmp_path):
        """The whole path reaches bd."""
        bd = a_program(tmp_path / "told-bd", 'echo "$2" > "$BEADS_DIR/../said"')
        forward(beads.home, ["export", "-o", "t.jsonl"], bd=bd, invoked_in=tmp_path)
        assert (beads.home / "said").read_text() == f"--output={tmp_path}/t.jsonl\n"

    def test_a_bd_that_hangs_is_stopped(self, beads, tmp_path):
        """A hanging Dolt server used to hang every `fleet bd` with it."""
        bd = a_program(tmp_path / "told-bd", "exec sleep 600")
        with pytest.raises(QueueBusy, match="did not end within"):
            forward(beads.home, ["list"], bd=bd, patience=timedelta(milliseconds=100))

    def test_what_bd_prints_on_a_terminal_is_shown_and_not_obeyed(
        self, beads, tmp_path, monkeypatch
    ):
        """Titles and notes are agents' text, and bd prints them as they are."""
        bd = a_program(tmp_path / "told-bd", r"printf 'title \033[2J\342\200\256 \rend\n'; exit 3")
        ours, theirs = os.openpty()
        with os.fdopen(theirs, "w") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)
            assert forward(beads.home, ["list"], bd=bd) == 3
            said = os.read(ours, 4096).decode()
        os.close(ours)
        assert said == "title \\x1b[2J\\u202e \\rend\r\n"

    def test_what_is_said_of_the_wait_ends_before_bd_speaks(self, beads, tmp_path, monkeypatch):
        """A line that turns in its place must not stand between bd's own."""
        bd = a_program(tmp_path / "told-bd", "echo said")
        ours, theirs = os.openpty()
        with os.fdopen(theirs, "w") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)

            def gone():
                terminal.write("gone, ")
                terminal.flush()

            forward(beads.home, ["list"], bd=bd, before_output=gone)
            said = os.read(ours, 4096)
        os.close(ours)
        assert said == b"gone, said\r\n"

    def test_the_users_own_name_is_kept(self, beads, tmp_path):
        """BEADS_ACTOR reaches bd; a database named by the environment does not."""
        bd = a_program(tmp_path / "told-bd", 'echo "$BEADS_ACTOR $BEADS_DB" > "$BEADS_DIR/../said"')
        environ = dict(os.environ, BEADS_ACTOR="ann", BEADS_DB="/elsewhere")
        assert forward(beads.home, ["list"], bd=bd, environ=environ) == 0
        assert (beads.home / "said").read_text() == "ann \n"

    def test_an_agents_bd_leads_to_the_real_bd(self, beads, tmp_path):
        """In a run fleet's own `bd` comes first on PATH; called again, it would fork for ever."""
        fleets, real = beads.home / "bin", tmp_path / "real"
        for folder, word in ((fleets, "fleet"), (real, "real")):
            folder.mkdir()
            (folder / "bd").write_text(f"#!/bin/sh\necho {word} bd version 1.3.0\n")
            (folder / "bd").chmod(0o755)
        environ = dict(os.environ, PATH=f"{fleets}:{real}:{os.environ['PATH']}")
        with (tmp_path / "out").open("w") as stdout:
            forward(beads.home, ["show", "x"], environ=environ, stdout=stdout)
        assert (tmp_path / "out").read_text() == "real bd version 1.3.0\n"
        client = BdClient(beads.home, variables=environment(beads.home, environ))
        assert client.call(["version"]).out == b"real bd version 1.3.0\n"

    def test_a_death_by_signal_is_told_as_a_shell_tells_it(self, beads, tmp_path):
        """128 and the signal's number."""
        assert (
            forward(beads.home, ["list"], bd=a_program(tmp_path / "told-bd", "kill -SEGV $$"))
            == 139
        )

    def test_a_missing_bd_is_said(self, beads, tmp_path):
        """A FleetError with a hint, not a traceback."""
        with pytest.raises(QueueUnavailable):
            forward(beads.home, ["list"], bd=str(tmp_path / "none"))

    def test_a_write_wakes_the_supervisor_and_a_read_does_not(self, beads, queue, tmp_path):
        """`close` rings, `list` does not; an unknown command rings to be safe."""
        bd = a_program(tmp_path / "told-bd", "exit 0")
        quiet(queue)
        forward(beads.home, ["--json", "list"], bd=bd)
        assert queue.wait(timedelta(0)) is False
        for verb in ("close", "some-new-verb"):
            forward(beads.home, [verb, "x"], bd=bd)
            assert queue.wait(timedelta(0)) is True

    def test_a_write_waits_for_its_turn_but_not_for_ever(self, beads, queue, tmp_path):
        """Behind a stuck writer the user's command goes ahead after all."""
        bd = a_program(tmp_path / "told-bd", "exit 4")
        with queue.locked():
            patience = timedelta(milliseconds=50)
            assert forward(beads.home, ["update", "x"], bd=bd, patience=patience) == 4

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_ctrl_c_and_a_kill_reach_bd_and_its_exit_code_counts(self, beads, tmp_path, number):
        """Then bd may clean up and choose its code; fleet waits for it and passes that on."""
        bd = a_program(
            tmp_path / "told-bd",
            'trap "exit 7" INT TERM; echo ready; while :; do sleep 0.05; done',
        )
        code = (
            "import sys; from pathlib import Path;"
            "from fleet.bd.beads_forward import forward;"
            "sys.exit(forward(Path(sys.argv[1]), ['edit', 'x'], bd=sys.argv[2]))"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(beads.home), bd],
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as fleet:
            assert fleet.stdout.readline() == b"ready\n"
            if number is signal.SIGINT:  # a terminal sends it to the whole group
                os.killpg(fleet.pid, number)
            else:
                fleet.send_signal(number)
            assert fleet.wait(timeout=20) == 7


class TestCreate:
    def test_the_directory_is_recorded_in_the_call_that_makes_the_task(self, beads, queue):
        """One `bd create`, and its metadata says where and with what to work."""
        made = create(beads.home, ["Fix it", "--priority=1"], HERE, bd=str(beads.bd))
        assert (made.code, made.style, len(beads.calls)) == (0, "line", 1)
        (issue,) = made.tasks
        task = queue.get(issue.id)
        assert (task.title, task.priority) == ("Fix it", 1)
        assert (task.cwd, task.coder, task.model) == ("/srv/project", "agy", "opus")

    def test_the_users_metadata_is_kept_beside_fleets(self, beads, queue):
        """Keys of the user's stay, and so do unknown ones under `fleet`."""
        mine = '--metadata={"team": "x", "fleet": {"note": 1, "cwd": "/old"}}'
        made = create(beads.home, ["T", mine], HERE, bd=str(beads.bd))
        metadata = queue.get(made.tasks[0].id).metadata
        assert metadata["team"] == "x"
        assert (metadata["fleet"]["note"], metadata["fleet"]["cwd"]) == (1, "/srv/project")

    @pytest.mark.parametrize("bad", ["[1]", "{", "@no-such-file"])
    def test_metadata_that_is_no_object_is_refused(self, beads, bad):
        """In bd's words, before bd is asked."""
        with pytest.raises(BadInput, match="invalid JSON in --metadata"):
            create(beads.home, ["T", f"--metadata={bad}"], HERE, bd=str(beads.bd))
        assert beads.calls == []

    @pytest.mark.parametrize(
        ("args", "verb", "style"),
        [
            (["T"], "create", "line"),
            (["T", "--json"], "new", "json"),
            (["T", "--silent"], "create", "id"),
            (["T", "--quiet"], "create", "nothing"),
            (["T", "--quiet", "--silent"], "create", "id"),
            (["two", "words"], "q", "id"),
        ],
    )
    def test_the_user_chooses_how_it_is_shown(self, beads, queue, args, verb, style):
        """A line, JSON, the id alone, or nothing, as bd itself has it."""
        made = create(beads.home, args, HERE, verb=verb, bd=str(beads.bd))
        assert made.style == style
        assert ('"title": "T"' in made.out) == (style == "json")
        if verb == "q":
            assert queue.get(made.tasks[0].id).title == "two words"

    def test_a_dry_run_leaves_nothing_behind(self, beads, queue):
        """No task, no entry in the ledger, no bell."""
        quiet(queue)
        made = create(beads.home, ["T", "--dry-run"], HERE, bd=str(beads.bd))
        assert (made.code, made.tasks) == (0, ())
        assert list(queue.find(Filter(include_closed=True))) == []
        assert queue.wait(timedelta(0)) is False

    def test_a_dry_run_is_told_as_on_fleets_own_queues(self, beads):
        """A line, and JSON only where JSON was asked for."""
        made = create(beads.home, ["T", "--dry-run"], HERE, bd=str(beads.bd))
        assert (made.out, made.style) == ("Would create: T\n", "line")
        made = create(beads.home, ["T", "--dry-run", "--json"], HERE, bd=str(beads.bd))
        assert json.loads(made.out)["title"] == "T"

    def test_a_switch_that_is_off_is_off(self, beads, queue):
        """`--dry-run=false` makes a task that fleet knows of, and `--json=false` is no JSON."""
        made = create(beads.home, ["T", "--dry-run=false", "--json=false"], HERE, bd=str(beads.bd))
        assert (made.style, len(made.tasks)) == ("line", 1)

    def test_json_is_in_the_envelope_that_the_user_asks_for(self, beads):
        """Flat as bd's own, whatever fleet asked of bd; BD_JSON_ENVELOPE has it wrapped."""
        flat = json.loads(create(beads.home, ["T", "--json"], HERE, bd=str(beads.bd)).out)
        assert (flat["title"], flat["schema_version"]) == ("T", 1)
        assert list(flat) == sorted(flat)
        environ = dict(os.environ, BD_JSON_ENVELOPE="1")
        made = create(beads.home, ["T", "--json"], HERE, bd=str(beads.bd), environ=environ)
        assert json.loads(made.out)["data"]["title"] == "T"

    def test_a_refusal_is_passed_on_with_its_code(self, beads):
        """What bd says is not an exception: the user sees it as bd put it."""
        made = create(beads.home, ["T", "--type=banana"], HERE, bd=str(beads.bd))
        assert (made.code, made.err, made.tasks) == (1, "Error: invalid issue type: banana\n", ())
        raw = create(beads.home, ["T", "--type=banana", "--json"], HERE, bd=str(beads.bd))
        assert "invalid issue type" in json.loads(raw.out)["error"]

    def test_a_description_can_be_piped_in(self, beads, queue):
        """Standard input is read before anything is locked, and handed to bd."""
        made = create(
            beads.home, ["T", "--stdin"], HERE, bd=str(beads.bd), stdin=io.BytesIO(b"from a pipe")
        )
        assert queue.get(made.tasks[0].id).description == "from a pipe"

    def test_a_file_is_found_where_the_user_typed_it(self, beads, queue, tmp_path):
        """Bd runs in the home, but a relative path means the user's own directory."""
        (tmp_path / "body.md").write_text("the body")
        made = create(
            beads.home, ["T", "--body-file=body.md"], HERE, bd=str(beads.bd), invoked_in=tmp_path
        )
        assert queue.get(made.tasks[0].id).description == "the body"

    def test_a_made_task_wakes_the_supervisor_and_keeps_its_place(self, beads, queue):
        """It rings, and stands behind what was added before it in the same second."""
        first = queue.add(Draft(title="first", id="fleet-zzz")).id
        quiet(queue)
        second = create(beads.home, ["second", "--id=fleet-aaa"], HERE, bd=str(beads.bd))
        assert queue.wait(timedelta(0)) is True
        ids = [task.id for task in queue.find(Filter(ready=True))]
        created = {queue.get(task_id).created_at for task_id in ids}
        expected = [first, second.tasks[0].id]
        assert ids == expected or len(created) == 2
