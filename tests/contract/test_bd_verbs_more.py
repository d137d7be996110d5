"""bd's commands around tasks: dependencies, epics, comments, labels.

JSON shapes and exit codes are those of the real bd 1.3; tests/real compares.
"""

import pytest

EDGE = "already exists with type"


class TestDependencies:
    def test_an_added_edge_blocks(self, bd):
        """`dep add A B` makes A wait for B, and says so in words and in JSON."""
        bd.tasks("a", "b")
        assert bd.ok("dep add a b") == "fleet-a depends on fleet-b (blocks)\n"
        assert [row["id"] for row in bd.json("ready")] == ["fleet-b"]
        assert bd.json("dep add a b") == {
            "depends_on_id": "fleet-b",
            "issue_id": "fleet-a",
            "schema_version": 1,
            "status": "added",
            "type": "blocks",
        }

    def test_a_task_in_progress_does_not_wait(self, bd):
        """The edge counts for its next run: the one that works now is not stopped by it."""
        bd.tasks("a", "b")
        bd.ok("update a --claim")
        done = bd("dep add a b")
        assert (done.code, done.out) == (0, "fleet-a depends on fleet-b (blocks)\n")
        assert "fleet-a is in progress, and its run does not wait for fleet-b" in done.err
        bd.ok("close b")
        assert bd("dep add a b").err == ""

    @pytest.mark.parametrize(
        ("line", "kind"),
        [
            ("dep add a --blocked-by b", "blocks"),
            ("dep add a --depends-on b", "blocks"),
            ("dep add a b -t depends-on", "blocks"),
            ("dep add a b -t related", "related"),
            ("dep add a b -t waits-for", "waits-for"),
            ("dep add a b -t parent-child", "parent-child"),
            ("dep --json=false add a b", "blocks"),
        ],
    )
    def test_each_way_to_add(self, bd, line, kind):
        """Flags, aliases and types all add the edge that they name."""
        bd.tasks("a", "b")
        bd.ok(line)
        assert [row["dependency_type"] for row in bd.json("dep list a")] == [kind]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("dep add a a", "cannot add self-dependency: fleet-a cannot depend on itself"),
            ("dep add b a", "adding dependency would create a cycle"),
            ("dep add c a", "adding dependency would create a cycle"),
            ("dep add a b -t related", f'fleet-a -> fleet-b {EDGE} "blocks" (requested "related")'),
            ("dep add k e", "cannot be blocked by its ancestor fleet-e"),
            ("dep add e k", "cannot be blocked by its descendant fleet-k"),
            ("dep add e.1 e", "is already a child of fleet-e. Children inherit dependency"),
            ("dep add e.1 e -t related", "is already a child of fleet-e"),
            ("dep add e k -t parent-child", "adding dependency would create a cycle"),
            ("dep add a nope", 'no issue found matching "nope"'),
            ("dep add nope a", 'no issue found matching "nope"'),
            ("dep add a d -t weird", 'unknown dependency type "weird"; valid types: approved-by,'),
            ("dep add a d -t ''", 'unknown dependency type ""'),
            ("dep add a external:x:y", "another project's tracker"),
            ("dep add a", "requires 2 ids, received 1"),
            ("dep add a b c", "requires 2 ids, received 3"),
            ("dep add a b --blocked-by c", "requires 2 ids, received 3"),
            ("dep remove a nope", 'no issue found matching "nope"'),
            ("dep remove a", "accepts 2 arg(s), received 1"),
            ("dep tree nope", 'no issue found matching "nope"'),
            ("dep tree a --direction x", "--direction must be 'down', 'up', or 'both'"),
            ("dep tree a -d 0", "--max-depth must be >= 1"),
            ("dep list nope", 'no issue found matching "nope"'),
            ("dep list a nope", 'no issue found matching "nope"'),
            ("dep list", "requires at least 1 arg(s), only received 0"),
        ],
    )
    def test_refusals(self, bd, line, said):
        """What bd refuses is refused, and nothing is changed."""
        bd.tasks("a", "b", "c", "d", "e", "k")
        bd.ok("create child --parent fleet-e")
        for edge in ("a b", "b c", "k e -t parent-child"):
            bd.ok(f"dep add {edge}")
        before = bd("export --all").out
        assert said in bd.refused(line)
        assert bd("export --all").out == before

    def test_removing_twice_is_no_error(self, bd):
        """`dep remove` of an edge that is not there succeeds, as with bd."""
        bd.tasks("a", "b")
        bd.ok("dep add a b")
        assert bd.ok("dep rm a b") == "fleet-a no longer depends on fleet-b\n"
        removed = {"status": "removed", "issue_id": "fleet-a", "depends_on_id": "fleet-b"}
        assert bd.json("dep remove a b") == {**removed, "schema_version": 1}
        assert len(bd.json("ready")) == 2

    def test_lists_look_both_ways(self, bd):
        """One id lists tasks with the edge's type, several ids list raw edges."""
        bd.tasks("a", "b", "c")
        bd.ok("dep add a c")
        bd.ok("dep add a b -t related")
        assert bd.ok("dep list a") == (
            "fleet-b  P2  open         Task b  (related)\n"
            "fleet-c  P2  open         Task c  (blocks)\n"
        )
        kinds = {row["id"]: row["dependency_type"] for row in bd.json("dep list a")}
        assert kinds == {"fleet-b": "related", "fleet-c": "blocks"}
        assert [row["id"] for row in bd.json("dep list c --direction up")] == ["fleet-a"]
        assert [row["id"] for row in bd.json("dep list a -t blocks")] == ["fleet-c"]
        assert bd.ok("dep list b") == "fleet-b has no dependencies\n"
        assert bd.json("dep list b") == []
        edges = bd.json("dep list a b")
        assert [edge["depends_on_id"] for edge in edges] == ["fleet-b", "fleet-c"]
        assert bd.ok("dep list a b") == (
            "fleet-a depends on fleet-b (related)\nfleet-a depends on fleet-c (blocks)\n"
        )

    def test_a_tree_shows_each_task_once(self, bd):
        """A task that two ways lead to stands under the first of them."""
        bd.tasks("a", "b", "c", "d")
        for edge in ("a b", "a d", "b c", "c d"):
            bd.ok(f"dep add {edge}")
        assert bd.ok("dep tree a") == (
            "fleet-a  P2  open         Task a\n"
            "  fleet-b  P2  open         Task b  (blocks)\n"
            "    fleet-c  P2  open         Task c  (blocks)\n"
            "      fleet-d  P2  open         Task d  (blocks)\n"
        )
        nodes = bd.json("dep tree a")
        assert [(n["id"], n["depth"], n["parent_id"]) for n in nodes] == [
            ("fleet-a", 0, ""),
            ("fleet-b", 1, "fleet-a"),
            ("fleet-c", 2, "fleet-b"),
            ("fleet-d", 3, "fleet-c"),
        ]
        assert nodes[1]["edge_from_parent"] == "blocks"
        assert nodes[1]["truncated"] is False
        assert [n["id"] for n in bd.json("dep tree a -d 2")] == ["fleet-a", "fleet-b", "fleet-d"]
        up = bd.json("dep tree d --direction up")
        assert [n["id"] for n in up] == ["fleet-d", "fleet-a", "fleet-c", "fleet-b"]
        both = bd.json("dep tree c --direction both")
        assert sorted(n["id"] for n in both) == ["fleet-a", "fleet-b", "fleet-c", "fleet-d"]

    def test_a_tree_of_one_status(self, bd):
        """Only the tasks of that status, and the way to them."""
        bd.tasks("a", "b", "c")
        for edge in ("a b", "a c"):
            bd.ok(f"dep add {edge}")
        bd.ok("close c")
        assert [n["id"] for n in bd.json("dep tree a --status closed")] == ["fleet-a", "fleet-c"]
        assert bd.json("dep tree b --status closed") == []

    def test_no_cycles(self, bd):
        """The rules keep cycles out, and `dep cycles` says so."""
        assert bd.ok("dep cycles") == "No dependency cycles.\n"
        assert bd.json("dep cycles") == []


class TestEpics:
    def test_epic_status_counts_children(self, bd):
        """Open epics with children, and how many of those are closed."""
        bd.tasks("e", "f", issue_type="epic")
        for parent in ("e", "e", "f"):
            bd.ok(f"create part --parent fleet-{parent}")
        assert bd.ok("epic status") == (
            "fleet-e  0/2 closed  Task e\nfleet-f  0/1 closed  Task f\n"
        )
        bd.ok("close fleet-e.1 fleet-e.2")
        assert bd.ok("epic status --eligible-only") == "fleet-e  2/2 closed  Task e\n"
        status = bd.json("epic status")[0]
        assert status["epic"]["id"] == "fleet-e"
        assert (status["total_children"], status["closed_children"]) == (2, 2)
        assert status["eligible_for_close"] is True
        bd.ok("close fleet-e")
        assert [row["epic"]["id"] for row in bd.json("epic status")] == ["fleet-f"]

    def test_children_of_all_statuses(self, bd):
        """`children` lists closed ones too, newest first, and an unknown parent has none."""
        bd.tasks("e", issue_type="epic")
        bd.ok("create one --parent fleet-e")
        bd.clock.pass_(seconds=1)
        bd.ok("create two --parent fleet-e")
        bd.ok("close fleet-e.1")
        assert [row["id"] for row in bd.json("children fleet-e")] == ["fleet-e.2", "fleet-e.1"]
        assert "fleet-e.1  P2  closed       one" in bd.ok("children fleet-e --pretty")
        assert bd.json("children nope") == []
        assert bd.refused("children") == "accepts 1 arg(s), received 0"


class TestComments:
    @pytest.mark.parametrize(
        "text",
        [
            "plain",
            "two\nlines",
            'a "quoted" <b> & \\ $x',
            "--force",
            "-x",
            "ünï 🎉",
            "x" * 1_000_000,
        ],
        ids=["plain", "lines", "markup", "flag", "dash", "unicode", "huge"],
    )
    def test_a_comment_is_kept_as_it_is(self, bd, text):
        """Whatever the text is, after `--` it is text, and it comes back unchanged."""
        bd.tasks("a")
        said = bd(["comment", "--json", "a", "--", text])
        assert said.code == 0
        assert said.json["text"] == text
        assert [one["text"] for one in bd.json("comments a")] == [text]

    def test_comments_are_listed_in_order(self, bd):
        """The oldest first, with author and time, for people and for programs."""
        bd.tasks("a")
        assert bd.ok("comments a") == "No comments on fleet-a\n"
        assert bd.json("comments a") == []
        assert bd.ok("comment a hello there") == "Comment added: fleet-a Task a\n"
        bd.clock.pass_(minutes=1)
        bd.ok("comments add a second -a bob")
        assert bd.ok("comments a") == (
            "2026-11-15 12:00 ann\n  hello there\n\n2026-11-15 12:01 bob\n  second\n"
        )
        first = bd.json("comments a")[0]
        assert first["issue_id"] == "fleet-a"
        assert (first["author"], first["text"]) == ("ann", "hello there")
        assert list(first) == ["id", "issue_id", "author", "text", "created_at"]

    def test_text_from_a_file_or_a_pipe(self, bd, tmp_path):
        """--file and --stdin bring the text as it is; both with words are refused."""
        bd.tasks("a")
        file = tmp_path / "text"
        file.write_text("from a file\n")
        bd.ok(f"comment a --file {file}")
        bd.clock.pass_(seconds=1)
        assert bd("comment a --stdin", stdin="from\na pipe").code == 0
        bd.clock.pass_(seconds=1)
        bd.ok(f"comments add a -f {file}")
        bd.ok(f"note a --file {file}")
        assert [one["text"] for one in bd.json("comments a")][:2] == [
            "from a file\n", "from\na pipe",
        ]  # fmt: skip
        assert bd.queue.get("fleet-a").notes == "from a file\n"
        assert "given twice" in bd.refused(f"comment a x --file {file}")

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("comment a", "no text was given"),
            ("comment a ''", "no text was given"),
            ("comment a --stdin", "no text was given"),
            ("comment nope x", 'no issue found matching "nope"'),
            ("comments nope", 'no issue found matching "nope"'),
            ("comments a b", "accepts 1 arg(s), received 2"),
            ("comments", "accepts 1 arg(s), received 0"),
            ("comments add a", "no text was given"),
            ("note a", "no text was given"),
            ("note a '  '", "no text was given"),
            ("note nope x", 'no issue found matching "nope"'),
            ("comment a --file /none", "cannot read /none: No such file"),
        ],
    )
    def test_refusals(self, bd, line, said):
        """What is missing is said."""
        bd.tasks("a")
        assert bd.refused(line).startswith(said)

    def test_bytes_that_are_no_text_are_refused(self, bd, tmp_path):
        """Invalid UTF-8 and zero bytes never reach the queue."""
        bd.tasks("a")
        file = tmp_path / "bad"
        file.write_bytes(b"caf\xe9")
        assert "is not valid UTF-8" in bd.refused(f"comment a --file {file}")
        file.write_bytes(b"a\0b")
        assert "zero byte" in bd.refused(f"note a --file {file}")
        said = bd(["comment", "a", "\udce9"])
        assert said.code == 1
        assert "not valid UTF-8" in said.err
        assert bd.json("comments a") == []

    def test_notes_are_appended(self, bd):
        """`note` adds a line to the notes and answers with the task."""
        bd.tasks("a")
        assert bd.ok("note a first one") == "Note added: fleet-a Task a\n"
        assert bd.json("note a second")["notes"] == "first one\nsecond"


class TestLabels:
    def test_labels_come_and_go(self, bd):
        """Several ids and several labels at once, in the order given."""
        bd.tasks("a", "b")
        assert bd.ok("label add a x") == "Labels added (x): fleet-a Task a\n"
        assert bd.ok("label add a b y,z") == (
            "Labels added (y, z): fleet-a Task a\nLabels added (y, z): fleet-b Task b\n"
        )
        assert bd.json("label list a") == ["x", "y", "z"]
        assert bd.ok("label list b") == "y\nz\n"
        assert bd.json("label remove a b y")[1] == {
            "issue_id": "fleet-b", "label": "y", "status": "removed",
        }  # fmt: skip
        bd.ok("label remove b z")
        assert bd.ok("label list b") == "fleet-b has no labels\n"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("label add nope x", 'no issue found matching "nope"'),
            ("label add a nope x", 'no issue found matching "nope"'),
            ("label add a provides:x", "reserved"),
            ("label add a ''", "label cannot be empty"),
            ("label list nope", 'no issue found matching "nope"'),
        ],
    )
    def test_refusals(self, bd, line, said):
        """Unknown tasks and reserved labels change nothing."""
        bd.tasks("a")
        assert said in bd.refused(line)
        assert bd.json("label list a") == []

    def test_a_label_with_a_space_is_warned_of(self, bd):
        """Labels that are separated by spaces are one label, and a warning says so."""
        bd.tasks("a")
        said = bd(["label", "add", "a", "a b"])
        assert said.err == 'Warning: "a b" is one label; separate several by commas\n'
        assert bd.json("label list a") == ["a b"]
