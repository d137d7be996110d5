"""bd export and import: nothing is lost, and a broken file changes nothing."""

import io
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from fleet.bd.command_line import answer
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas.waits import Asks
from tests.contract.bd_answers import Bd, Clock


@pytest.fixture
def other(tmp_path):
    """A second queue, where the first one's tasks shall go."""
    home = tmp_path / "other"
    home.mkdir()
    time = Clock()
    queue = open_embedded(home, clock=time)
    yield Bd(queue, time)
    queue.close()


SETTINGS = {"cwd": "/src/x", "coder": "claude", "model": "opus"}


def fill(bd):
    """Tasks with everything that a task can have."""
    bd.tasks("a", "b", "c", "e")
    bd.queue.add(
        Draft(
            title='Odd <t> & "q"\\ 🎉',
            id="fleet-rich",
            description="two\nlines\n",
            priority=0,
            issue_type="bug",
            labels=("x", "with space"),
            depends_on=(("blocks", "fleet-a"), ("related", "fleet-b")),
            assignee="bob",
            owner="bob@example.org",
            created_by="ann",
            design="D",
            acceptance_criteria="A",
            notes="N",
            spec_id="S",
            external_ref="gh-9",
            estimated_minutes=30,
            due_at=datetime(2027, 1, 1, tzinfo=UTC),
            defer_until=datetime(2027, 2, 1, tzinfo=UTC),
            metadata={
                "fleet": {"cwd": "/src/x", "coder": "claude", "model": "opus"},
                "k": [1, 2.5],
            },
        )
    )
    bd.queue.add(Draft(title="kid", parent="fleet-e", created_by="ann"))
    bd.clock.pass_(seconds=1)
    bd.ok(["comment", "fleet-rich", "said\n<once>"])
    bd.clock.pass_(seconds=1)
    bd.ok(["comments", "add", "fleet-rich", "said twice", "-a", "zoe"])
    bd.ok("human dismiss fleet-c because of reasons")
    bd.ok(["remember", "a memory of it", "--key", "m"])
    bd.ok("defer fleet-b")
    bd.ok("update fleet-a --claim")


def lines(bd, line="export --all"):
    return [msgspec.json.decode(row) for row in bd.ok(line).splitlines()]


def test_embedded_to_embedded_loses_nothing(bd, other, tmp_path):
    """What the second queue exports is byte for byte what the first one did."""
    fill(bd)
    file = tmp_path / "all.jsonl"
    said = bd(f"export --all -o {file}")
    assert said.err == f"Exported 7 records to {file}\n"
    assert other(f"import {file}").err == (
        f"Imported 6 issues (6 new, 0 updated) and 1 memories from {file}\n"
    )
    assert other.ok("export --all") == bd.ok("export --all") == file.read_text()
    rich = other.queue.get("fleet-rich")
    assert (rich.cwd, rich.coder, rich.model) == ("/src/x", "claude", "opus")
    assert other.queue.add(Draft(title="next", parent="fleet-e")).id == "fleet-e.2"


def test_an_export_row_has_bds_shape(bd):
    """One object a line, with its type, labels, edges, comments and counts."""
    fill(bd)
    row = lines(bd)[0]
    assert row["_type"] == "issue"
    assert row["id"] == "fleet-rich"
    assert row["labels"] == ["with space", "x"]
    assert [edge["type"] for edge in row["dependencies"]] == ["blocks", "related"]
    assert [one["author"] for one in row["comments"]] == ["ann", "zoe"]
    assert (row["dependency_count"], row["dependent_count"], row["comment_count"]) == (1, 0, 2)
    assert [*row][-4:] == ["comments", "dependency_count", "dependent_count", "comment_count"]
    assert row["status"] == "deferred"
    assert lines(bd)[-1] == {"_type": "memory", "key": "m", "value": "a memory of it"}
    assert len(lines(bd, "export")) == 6
    assert len(lines(bd, "export --include-memories")) == 7


def row(**fields):
    return msgspec.json.encode({"title": "T", **fields}).decode() + "\n"


def imported(bd, text, *flags):
    return bd(["import", "-", "--json", *flags], stdin=text)


def test_unknown_fields_come_back(bd):
    """Fields of other versions and of machinery are kept whole and exported again."""
    fields = {"id": "x-1", "await_type": "human", "later": {"a": [None, 1]}, "metadata": "odd"}
    assert imported(bd, row(**fields, revision="9", parent="p")).code == 0
    [back] = lines(bd)
    assert {name: back[name] for name in fields} == fields
    assert "revision" not in back
    assert back["priority"] == 0


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("nonsense\n", "failed to parse JSONL line 3: JSON is malformed"),
        ("[1]\n", "failed to parse JSONL line 3: Expected `object`, got `array`"),
        (
            '{"title": 5}\n',
            "failed to parse JSONL line 3: Expected `str`, got `int` - at `$.title`",
        ),
        ('{"id": "x-2"}\n', "line 3: validation failed for issue x-2: title is required"),
        (row(id="x", priority=9), "line 3: validation failed for issue x: priority must be"),
        (row(id="x", status="odd"), "line 3: invalid status: odd"),
        (row(id="../x"), "line 3: '../x' is not a task id"),
        (row(id="x", created_at="now"), "failed to parse JSONL line 3: Invalid RFC3339"),
        (row(id="x", labels=["a\nb"]), "line 3: validation failed for issue x: a label cannot"),
        (row(id="x", notes="a\0b"), "line 3: there is a zero byte in a text"),
        ('{"title": "\\ud800"}\n', "failed to parse JSONL line 3"),
        (row(id="x", title="t" * 501), "title must be 500 characters or less (got 501)"),
    ],
)
def test_a_broken_line_is_named_and_nothing_comes_in(bd, broken, said):
    """The whole file is refused by the number of its bad line."""
    text = row(id="x-1") + "\n" + broken
    refusal = imported(bd, text)
    assert (refusal.code, refusal.err) == (1, "")
    assert said in refusal.json["error"]
    assert lines(bd) == []
    bd("import -", stdin=text.replace("\n\n", "\n"))
    assert lines(bd) == []


def test_bytes_that_are_not_utf8_are_refused_by_line(bd):
    """A file in another encoding is named, not guessed at."""
    raw = io.TextIOWrapper(io.BytesIO(b'{"title":"a"}\n{"title":"caf\xe9"}\n'))
    out = io.StringIO()
    assert answer(["import", "-", "--json"], bd.queue, env={}, out=out, stdin=raw) == 1
    assert "failed to parse JSONL line 2" in out.getvalue()
    assert lines(bd) == []


def test_newer_rows_win_and_older_rows_wait(bd):
    """A row replaces a task only when it is newer; the same second keeps what is here."""
    bd.tasks("a")
    older, newer = "2020-01-01T00:00:00Z", "2027-01-01T00:00:00Z"
    said = imported(bd, row(id="fleet-a", title="old", updated_at=older)).json
    assert (said["created"], said["skipped"]) == (0, 1)
    assert said["stale_skipped_ids"] == ["fleet-a"]
    said = imported(bd, row(id="fleet-a", title="same", updated_at="2026-11-15T12:00:00.5Z")).json
    assert said["tie_kept_local_ids"] == ["fleet-a"]
    assert bd.queue.get("fleet-a").title == "Task a"
    text = row(id="fleet-a", title="new", status="closed", updated_at=newer, created_by="zoe")
    said = bd("import -", stdin=text).err
    assert "Updated: fleet-a (status open → closed, title, priority" in said
    task = bd.queue.get("fleet-a")
    assert (task.title, task.status, task.created_by) == ("new", "closed", "ann")
    text = row(id="fleet-a", title="back", updated_at=older)
    assert imported(bd, text, "--allow-stale").json["updated"] == 1
    assert bd.queue.get("fleet-a").title == "back"


def test_what_comes_in_blocked_waits_for_what_its_notes_say(bd):
    """Other trackers have notes alone; a task that is blocked here already keeps its reason."""
    text = row(id="fleet-a", title="a", status="blocked", notes="QUESTION: which?\nsee the mail")
    imported(bd, text)
    assert bd.queue.get("fleet-a").waits == Asks(text="which?\nsee the mail")
    later = "2027-01-01T00:00:00Z"
    text = row(id="fleet-a", title="b", status="blocked", notes="a remark", updated_at=later)
    imported(bd, text)
    assert bd.queue.get("fleet-a").waits == Asks(text="which?\nsee the mail")
    imported(bd, row(id="fleet-a", title="b", updated_at="2028-01-01T00:00:00Z"))
    assert bd.queue.get("fleet-a").waits is None


def test_labels_comments_and_edges_are_added_never_taken(bd):
    """A newer row without a label leaves the label; comments come in once."""
    bd.tasks("a", "b")
    bd.ok("label add a here")
    bd.ok("comment a mine")
    said = {"author": "q", "text": "theirs", "created_at": "2020-01-01T00:00:00Z"}
    edges = [{"issue_id": "fleet-a", "depends_on_id": "fleet-b", "type": "related"}]
    text = row(
        id="fleet-a", updated_at="2027-01-01T00:00:00Z", labels=["there", "a,b"],
        comments=[said, {**said, "id": 7, "text": "seven"}], dependencies=edges,
    )  # fmt: skip
    for _ in range(2):
        assert imported(bd, text).code == 0
    assert bd.json("label list a") == ["a,b", "here", "there"]
    assert [one["text"] for one in bd.json("comments a")] in (
        ["theirs", "seven", "mine"], ["seven", "theirs", "mine"],
    )  # fmt: skip
    other = row(id="x-2", comments=[{**said, "id": 7, "text": "another seven"}])
    assert imported(bd, other).code == 0
    assert [one["text"] for one in bd.json("comments x-2")] == ["another seven"]
    assert len(bd.json("dep list a")) == 1


def test_edges_that_cannot_be_are_reported(bd):
    """Dangling targets, self-dependencies and cycles are left out and named."""

    def to(target, kind="blocks"):
        return {"depends_on_id": target, "type": kind}

    text = (
        row(id="x-a", dependencies=[to("x-b"), to("x-none")])
        + row(id="x-b", dependencies=[to("x-c"), to("x-b")])
        + row(id="x-c", dependencies=[to("x-a"), to("x-a", "related"), to("external:p:q")])
    )
    said = imported(bd, text).json
    assert sorted(said["skipped_dependencies"]) == [
        "x-a -> x-none: target not found",
        "x-b -> x-b: cannot add self-dependency: x-b cannot depend on itself",
        "x-c -> external:p:q: target not found",
        "x-c -> x-a: adding dependency would create a cycle",
    ]
    assert bd.json("dep cycles") == []
    assert [node["id"] for node in bd.json("dep tree x-a")] == ["x-a", "x-b", "x-c"]


def test_a_rehearsal_changes_nothing(bd):
    """--dry-run counts exactly and rolls back."""
    bd.tasks("a")
    text = (
        row(id="x-1")
        + row(id="fleet-a", updated_at="2027-01-01T00:00:00Z")
        + ('{"_type":"memory","key":"k","value":"v"}\n')
    )
    before = bd("export --all").out
    assert bd("import - --dry-run", stdin=text).err == (
        "Would import 2 issues (1 new, 1 updated) and 1 memories from stdin\n"
        "Updated: fleet-a (title, priority)\n"
    )
    said = imported(bd, text, "--dry-run").json
    assert (said["dry_run"], said["ids"]) == (True, ["x-1", "fleet-a"])
    assert bd("export --all").out == before


def test_duplicates_by_title_can_be_left_out(bd):
    """--dedup skips rows whose title an open task has already."""
    bd.tasks("a")
    text = row(id="x-1", title="TASK A") + row(id="x-2", title="fresh")
    said = imported(bd, text, "--dedup").json
    assert (said["ids"], said["dedup_skipped"]) == (["x-2"], 1)


def test_what_runs_right_now_is_left_alone(bd):
    """An import never pulls a task from under a supervisor."""
    bd.tasks("a")
    [lease] = bd.queue.claim("cw01", ttl=timedelta(minutes=1))
    said = imported(bd, row(id="fleet-a", status="open", updated_at="2027-01-01T00:00:00Z"))
    assert said.json["running_kept_local_ids"] == ["fleet-a"]
    assert bd.queue.renew(lease, ttl=timedelta(minutes=1)).until > lease.until - timedelta(1)
    assert bd.queue.get("fleet-a").title == "Task a"


def test_odds_and_ends_of_files(bd):
    """Heads of old files, marks of deleted tasks, templates and wisps are no tasks."""
    text = (
        '{"_schema":"v1"}\n\n'
        + row(id="x-1", status="tombstone")
        + row(id="x-2", is_template=True)
        + row(id="x-3", wisp=True)
        + row(id="x-4", status="closed")
        + row()
    )
    said = imported(bd, text).json
    assert said["left_out_ids"] == ["x-2", "x-3"]
    assert said["ids"][0] == "x-4"
    assert said["ids"][1].startswith("fleet-")
    assert bd.queue.get("x-4").closed_at is not None
    assert bd.refused("import").startswith("no file given")
    assert bd.refused("import /none").startswith("cannot read /none: ")
    assert imported(bd, "").json == {
        "created": 0, "schema_version": 1, "skipped": 0, "source": "stdin",
    }  # fmt: skip


def test_a_failed_export_leaves_no_half_file(bd, tmp_path):
    """A file is there whole or not at all."""
    bd.tasks("a")
    assert "cannot write" in bd(f"export -o {tmp_path / 'none' / 'file'}").err
    (tmp_path / "folder").mkdir()
    assert "cannot write" in bd(f"export -o {tmp_path / 'folder'}").err
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []
