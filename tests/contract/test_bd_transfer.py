"""bd export and import: nothing is lost, and a broken file changes nothing."""

import io
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from fleet.bd import answer
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from tests.contract.bd_desk import Clock, Desk


@pytest.fixture
def other(tmp_path):
    """A second queue, where the first one's tasks shall go."""
    home = tmp_path / "other"
    home.mkdir()
    time = Clock()
    queue = open_embedded(home, clock=time)
    yield Desk(queue, time)
    queue.close()


SETTINGS = {"cwd": "/src/x", "coder": "claude", "model": "opus"}


def fill(desk):
    """Tasks with everything that a task can have."""
    desk.tasks("a", "b", "c", "e")
    desk.queue.add(
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
    desk.queue.add(Draft(title="kid", parent="fleet-e", created_by="ann"))
    desk.clock.pass_(seconds=1)
    desk.ok(["comment", "fleet-rich", "said\n<once>"])
    desk.clock.pass_(seconds=1)
    desk.ok(["comments", "add", "fleet-rich", "said twice", "-a", "zoe"])
    desk.ok("human dismiss fleet-c because of reasons")
    desk.ok(["remember", "a memory of it", "--key", "m"])
    desk.ok("defer fleet-b")
    desk.ok("update fleet-a --claim")


def lines(desk, line="export --all"):
    return [msgspec.json.decode(row) for row in desk.ok(line).splitlines()]


def test_embedded_to_embedded_loses_nothing(desk, other, tmp_path):
    """What the second queue exports is byte for byte what the first one did."""
    fill(desk)
    file = tmp_path / "all.jsonl"
    said = desk(f"export --all -o {file}")
    assert said.err == f"Exported 6 issues and 1 memories to {file}\n"
    assert other(f"import {file}").err == f"Imported 6 issues and 1 memories from {file}\n"
    assert other.ok("export --all") == desk.ok("export --all") == file.read_text()
    rich = other.queue.get("fleet-rich")
    assert (rich.cwd, rich.coder, rich.model) == ("/src/x", "claude", "opus")
    assert other.queue.add(Draft(title="next", parent="fleet-e")).id == "fleet-e.2"


def test_an_export_row_has_bds_shape(desk):
    """One object a line, with its type, labels, edges, comments and counts."""
    fill(desk)
    row = lines(desk)[0]
    assert row["_type"] == "issue"
    assert row["id"] == "fleet-rich"
    assert row["labels"] == ["with space", "x"]
    assert [edge["type"] for edge in row["dependencies"]] == ["blocks", "related"]
    assert [one["author"] for one in row["comments"]] == ["ann", "zoe"]
    assert (row["dependency_count"], row["dependent_count"], row["comment_count"]) == (1, 0, 2)
    assert row["status"] == "deferred"
    assert lines(desk)[-1] == {"_type": "memory", "key": "m", "value": "a memory of it"}
    assert len(lines(desk, "export")) == 6
    assert len(lines(desk, "export --include-memories")) == 7
    assert lines(desk, "export --exclude-owner ann") == []


def row(**fields):
    return msgspec.json.encode({"title": "T", **fields}).decode() + "\n"


def imported(desk, text, *flags):
    return desk(["import", "-", "--json", *flags], stdin=text)


def test_unknown_fields_come_back(desk):
    """Fields of other versions and of machinery are kept whole and exported again."""
    fields = {"id": "x-1", "await_type": "human", "later": {"a": [None, 1]}, "metadata": "odd"}
    assert imported(desk, row(**fields, revision="9", parent="p")).code == 0
    [back] = lines(desk)
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
        (row(id="x", status="odd"), "line 3: validation failed for issue x: invalid status: odd"),
        (row(id="../x"), "line 3: '../x' is not a task id"),
        (row(id="x", created_at="now"), "failed to parse JSONL line 3: Invalid RFC3339"),
        (row(id="x", labels=["a\nb"]), "line 3: validation failed for issue x: a label cannot"),
        (row(id="x", notes="a\0b"), "line 3: there is a zero byte in a text"),
        ('{"title": "\\ud800"}\n', "failed to parse JSONL line 3"),
        (row(id="x", title="t" * 501), "title must be 500 characters or less (got 501)"),
    ],
)
def test_a_broken_line_is_named_and_nothing_comes_in(desk, broken, said):
    """The whole file is refused by the number of its bad line."""
    text = row(id="x-1") + "\n" + broken
    refusal = imported(desk, text)
    assert (refusal.code, refusal.err) == (1, "")
    assert said in refusal.json["error"]
    assert lines(desk) == []
    desk("import -", stdin=text.replace("\n\n", "\n"))
    assert lines(desk) == []


def test_bytes_that_are_not_utf8_are_refused_by_line(desk):
    """A file in another encoding is named, not guessed at."""
    raw = io.TextIOWrapper(io.BytesIO(b'{"title":"a"}\n{"title":"caf\xe9"}\n'))
    out = io.StringIO()
    assert answer(["import", "-", "--json"], desk.queue, env={}, out=out, stdin=raw) == 1
    assert "failed to parse JSONL line 2" in out.getvalue()
    assert lines(desk) == []


def test_newer_rows_win_and_older_rows_wait(desk):
    """A row replaces a task only when it is newer; the same second keeps what is here."""
    desk.tasks("a")
    older, newer = "2020-01-01T00:00:00Z", "2027-01-01T00:00:00Z"
    said = imported(desk, row(id="fleet-a", title="old", updated_at=older)).json
    assert (said["created"], said["skipped"]) == (0, 1)
    assert said["stale_skipped_ids"] == ["fleet-a"]
    said = imported(desk, row(id="fleet-a", title="same", updated_at="2026-11-15T12:00:00.5Z")).json
    assert said["tie_kept_local_ids"] == ["fleet-a"]
    assert desk.queue.get("fleet-a").title == "Task a"
    text = row(id="fleet-a", title="new", status="closed", updated_at=newer, created_by="zoe")
    said = desk("import -", stdin=text).err
    assert "Updated 1 existing issue(s):\n  fleet-a: status open → closed, title, priority" in said
    task = desk.queue.get("fleet-a")
    assert (task.title, task.status, task.created_by) == ("new", "closed", "ann")
    text = row(id="fleet-a", title="back", updated_at=older)
    assert imported(desk, text, "--allow-stale").json["updated"] == 1
    assert desk.queue.get("fleet-a").title == "back"


def test_labels_comments_and_edges_are_added_never_taken(desk):
    """A newer row without a label leaves the label; comments come in once."""
    desk.tasks("a", "b")
    desk.ok("label add a here")
    desk.ok("comment a mine")
    said = {"author": "q", "text": "theirs", "created_at": "2020-01-01T00:00:00Z"}
    edges = [{"issue_id": "fleet-a", "depends_on_id": "fleet-b", "type": "related"}]
    text = row(
        id="fleet-a", updated_at="2027-01-01T00:00:00Z", labels=["there", "a,b"],
        comments=[said, {**said, "id": 7, "text": "seven"}], dependencies=edges,
    )  # fmt: skip
    for _ in range(2):
        assert imported(desk, text).code == 0
    assert desk.json("label list a") == ["a,b", "here", "there"]
    assert [one["text"] for one in desk.json("comments a")] in (
        ["theirs", "seven", "mine"], ["seven", "theirs", "mine"],
    )  # fmt: skip
    other = row(id="x-2", comments=[{**said, "id": 7, "text": "another seven"}])
    assert imported(desk, other).code == 0
    assert [one["text"] for one in desk.json("comments x-2")] == ["another seven"]
    assert len(desk.json("dep list a")) == 1


def test_edges_that_cannot_be_are_reported(desk):
    """Dangling targets, self-dependencies and cycles are left out and named."""

    def to(target, kind="blocks"):
        return {"depends_on_id": target, "type": kind}

    text = (
        row(id="x-a", dependencies=[to("x-b"), to("x-none")])
        + row(id="x-b", dependencies=[to("x-c"), to("x-b")])
        + row(id="x-c", dependencies=[to("x-a"), to("x-a", "related"), to("external:p:q")])
    )
    said = imported(desk, text).json
    assert sorted(said["skipped_dependencies"]) == [
        "x-a -> x-none: target not found",
        "x-b -> x-b: cannot add self-dependency: x-b cannot depend on itself",
        "x-c -> external:p:q: target not found",
        "x-c -> x-a: adding dependency would create a cycle",
    ]
    assert desk.json("dep cycles") == []
    assert [node["id"] for node in desk.json("dep tree x-a")] == ["x-a", "x-b", "x-c"]


def test_a_rehearsal_changes_nothing(desk):
    """--dry-run counts exactly and rolls back."""
    desk.tasks("a")
    text = (
        row(id="x-1")
        + row(id="fleet-a", updated_at="2027-01-01T00:00:00Z")
        + ('{"_type":"memory","key":"k","value":"v"}\n')
    )
    before = desk("export --all").out
    assert desk("import - --dry-run", stdin=text).err == (
        "Would import 2 issues (1 new, 1 updated, 0 unchanged) and 1 memories from stdin\n"
    )
    said = imported(desk, text, "--dry-run").json
    assert (said["dry_run"], said["ids"]) == (True, ["x-1", "fleet-a"])
    assert desk("export --all").out == before


def test_duplicates_by_title_can_be_left_out(desk):
    """--dedup skips rows whose title an open task has already."""
    desk.tasks("a")
    text = row(id="x-1", title="TASK A") + row(id="x-2", title="fresh")
    said = imported(desk, text, "--dedup").json
    assert (said["ids"], said["dedup_skipped"]) == (["x-2"], 1)


def test_what_runs_right_now_is_left_alone(desk):
    """An import never pulls a task from under a supervisor."""
    desk.tasks("a")
    [lease] = desk.queue.claim("cw01", ttl=timedelta(minutes=1))
    said = imported(desk, row(id="fleet-a", status="open", updated_at="2027-01-01T00:00:00Z"))
    assert said.json["running_kept_local_ids"] == ["fleet-a"]
    assert desk.queue.renew(lease, ttl=timedelta(minutes=1)).until > lease.until - timedelta(1)
    assert desk.queue.get("fleet-a").title == "Task a"


def test_odds_and_ends_of_files(desk):
    """Heads of old files, marks of deleted tasks, templates and wisps are no tasks."""
    text = (
        '{"_schema":"v1"}\n\n'
        + row(id="x-1", status="tombstone")
        + row(id="x-2", is_template=True)
        + row(id="x-3", wisp=True)
        + row(id="x-4", status="closed")
        + row()
    )
    said = imported(desk, text).json
    assert said["left_out_ids"] == ["x-2", "x-3"]
    assert said["ids"][0] == "x-4"
    assert said["ids"][1].startswith("fleet-")
    assert desk.queue.get("x-4").closed_at is not None
    assert desk.misused("import").startswith("no file given")
    assert desk.refused("import /none").startswith("cannot read /none: ")
    assert imported(desk, "").json == {
        "created": 0, "schema_version": 1, "skipped": 0, "source": "stdin",
    }  # fmt: skip


def test_a_failed_export_leaves_no_half_file(desk, tmp_path):
    """A file is there whole or not at all."""
    desk.tasks("a")
    assert "failed to write" in desk(f"export -o {tmp_path / 'none' / 'file'}").err
    (tmp_path / "folder").mkdir()
    assert "failed to write" in desk(f"export -o {tmp_path / 'folder'}").err
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []
