"""bd's commands around tasks: dependencies, epics, comments, labels.

Texts, shapes, channels and exit codes are those of the real bd 1.3; tests/real compares.
"""

import pytest

EDGE = "already exists with type"


class TestDependencies:
    def test_an_added_edge_blocks(self, desk):
        """`dep add A B` makes A wait for B, and says so in words and in JSON."""
        desk.tasks("a", "b")
        assert desk.ok("dep add a b") == (
            "✓ Added dependency: fleet-a (Task a) depends on fleet-b (Task b) (blocks)\n"
        )
        assert [row["id"] for row in desk.json("ready")] == ["fleet-b"]
        assert desk.json("dep add a b") == {
            "depends_on_id": "fleet-b",
            "issue_id": "fleet-a",
            "schema_version": 1,
            "status": "added",
            "type": "blocks",
        }

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("dep add a --blocked-by b", "fleet-a (Task a) depends on fleet-b (Task b) (blocks)"),
            ("dep add a --depends-on b", "fleet-a (Task a) depends on fleet-b (Task b) (blocks)"),
            ("dep add a b -t depends-on", "fleet-a (Task a) depends on fleet-b (Task b) (blocks)"),
            ("dep add a b -t related", "fleet-a (Task a) is related to fleet-b (Task b) (related)"),
            ("dep add a b -t waits-for", "fleet-a (Task a) waits for fleet-b (Task b) (waits-for)"),
            ("dep add a b -t parent-child", "(Task a) is a child of fleet-b (Task b)"),
            ("dep b --blocks a", "fleet-b (Task b) blocks fleet-a (Task a)"),
            ("link a b", "Linked: fleet-a (Task a) depends on fleet-b (Task b) (blocks)"),
            ("dep --json=false add a b", "depends on"),
        ],
    )
    def test_each_way_to_add(self, desk, line, said):
        """Flags, aliases, types and shorthands all add the edge that they name."""
        desk.tasks("a", "b")
        assert said in desk.ok(line)
        assert len(desk.json("dep list a")) == 1

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("dep add a a", "cannot add self-dependency: fleet-a cannot depend on itself"),
            ("dep add b a", "adding dependency would create a cycle"),
            ("dep add c a", "adding dependency would create a cycle"),
            ("dep a --blocks b", "adding dependency would create a cycle"),
            ("link c a", "adding dependency would create a cycle"),
            ("dep add a b -t related", f'fleet-a -> fleet-b {EDGE} "blocks" (requested "related")'),
            ("dep add k e", "cannot be blocked by its ancestor fleet-e"),
            ("dep add e k", "cannot be blocked by its descendant fleet-k"),
            ("dep add e.1 e", "is already a child of fleet-e. Children inherit dependency"),
            ("dep add e.1 e -t related", "is already a child of fleet-e"),
            ("dep add e k -t parent-child", "adding dependency would create a cycle"),
            ("dep add a nope", "resolving dependency ID nope: resolving issue ID nope: no issue"),
            ("dep add nope a", 'resolving issue ID nope: no issue found matching "nope"'),
            ("dep add a d -t weird", 'unknown dependency type "weird"; valid types: approved-by,'),
            ("dep add a d -t ''", 'invalid dependency type "" (must be non-empty, max 32 chars)'),
            ("dep add a external:x:y", "another project's tracker"),
            ("dep remove a nope", "resolving dependency ID nope"),
            ("dep tree nope", "resolving issue ID nope"),
            ("dep tree a --direction x", "--direction must be 'down', 'up', or 'both'"),
            ("dep tree a -d 0", "--max-depth must be >= 1"),
            ("dep list nope", "resolving nope: no issue found"),
        ],
    )
    def test_refusals(self, desk, line, said):
        """What bd refuses is refused in its words, and nothing is changed."""
        desk.tasks("a", "b", "c", "d", "e", "k")
        desk.ok("create child --parent fleet-e")
        for edge in ("a b", "b c", "k e -t parent-child"):
            desk.ok(f"dep add {edge}")
        before = desk("export --all").out
        assert said in desk.refused(line)
        assert desk("export --all").out == before

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("dep add a", "requires 2 arg(s), only received 1 (or use --blocked-by/"),
            ("dep add a b c", "requires 2 arg(s), only received 3"),
            ("dep add a b --blocked-by c", "cannot use both positional depends-on-id and"),
            ("dep remove a", "accepts 2 arg(s), received 1"),
            ("dep list", "requires at least 1 arg(s), only received 0"),
            ("dep x y", "accepts at most 1 arg(s), received 2"),
            ("dep relate a a", "cannot relate an issue to itself"),
            ("dep relate a nope", 'failed to resolve nope: no issue found matching "nope"'),
            ("link a", "accepts 2 arg(s), received 1"),
        ],
    )
    def test_misuse_is_plain_text(self, desk, line, said):
        """A line with the wrong number of words is answered on standard error, even for JSON."""
        desk.tasks("a", "b")
        assert desk.misused(line).startswith(said)

    def test_removing_twice_is_no_error(self, desk):
        """`dep remove` of an edge that is not there succeeds, as with bd."""
        desk.tasks("a", "b")
        desk.ok("dep add a b")
        assert desk.ok("dep rm a b") == (
            "✓ Removed dependency: fleet-a (Task a) → fleet-b (Task b)\n"
        )
        removed = {"status": "removed", "issue_id": "fleet-a", "depends_on_id": "fleet-b"}
        assert desk.json("dep remove a b") == {**removed, "schema_version": 1}
        assert len(desk.json("ready")) == 2

    def test_lists_look_both_ways(self, desk):
        """One id lists tasks with the edge's type, several ids list raw edges."""
        desk.tasks("a", "b", "c")
        desk.ok("dep add a c")
        desk.ok("dep add a b -t related")
        assert desk.ok("dep list a") == (
            "  fleet-b: Task b [P2] (open) via related\n"
            "  fleet-c: Task c [P2] (open) via blocks\n\n"
        )
        kinds = {row["id"]: row["dependency_type"] for row in desk.json("dep list a")}
        assert kinds == {"fleet-b": "related", "fleet-c": "blocks"}
        assert [row["id"] for row in desk.json("dep list c --direction up")] == ["fleet-a"]
        assert [row["id"] for row in desk.json("dep list a -t blocks")] == ["fleet-c"]
        assert desk.ok("dep list b") == "\nfleet-b has no dependencies\n"
        assert desk.json("dep list b") == []
        said = desk("dep list a nope --json")
        assert [edge["depends_on_id"] for edge in said.json] == ["fleet-b", "fleet-c"]
        assert said.err == 'warning: resolving nope: no issue found matching "nope" (skipped)\n'
        assert desk.ok("dep list a b") == (
            "\n📋 Dependencies of fleet-a:\n\n  fleet-b via related\n  fleet-c via blocks\n"
            "\nfleet-b has no dependencies\n\n"
        )

    def test_a_tree_shows_each_task_once(self, desk):
        """A task that two ways lead to stands under the first of them."""
        desk.tasks("a", "b", "c", "d")
        for edge in ("a b", "a d", "b c", "c d"):
            desk.ok(f"dep add {edge}")
        assert desk.ok("dep tree a") == (
            "\n🌲 Dependency tree for fleet-a:\n\n"
            "fleet-a: Task a [P2] (open) [BLOCKED]\n"
            "    └── fleet-b: Task b [P2] (open) [blocks]\n"
            "        └── fleet-c: Task c [P2] (open) [blocks]\n"
            "            └── fleet-d: Task d [P2] (open) [blocks]\n\n"
        )
        nodes = desk.json("dep tree a")
        assert [(n["id"], n["depth"], n["parent_id"]) for n in nodes] == [
            ("fleet-a", 0, ""),
            ("fleet-b", 1, "fleet-a"),
            ("fleet-c", 2, "fleet-b"),
            ("fleet-d", 3, "fleet-c"),
        ]
        assert nodes[1]["edge_from_parent"] == "blocks"
        assert nodes[1]["truncated"] is False
        assert [n["id"] for n in desk.json("dep tree a -d 2")] == ["fleet-a", "fleet-b", "fleet-d"]
        up = desk.json("dep tree d --direction up")
        assert [n["id"] for n in up] == ["fleet-d", "fleet-a", "fleet-c", "fleet-b"]
        both = desk.json("dep tree c --direction both")
        assert sorted(n["id"] for n in both) == ["fleet-a", "fleet-b", "fleet-c", "fleet-d"]

    def test_a_tree_as_a_drawing(self, desk):
        """`--format mermaid` quotes titles, and branches are drawn with their bars."""
        desk.tasks("a", "b", "c")
        desk.ok(["update", "fleet-b", "--title", 'a "b" c'])
        for edge in ("a b", "a c"):
            desk.ok(f"dep add {edge}")
        desk.ok("close c")
        assert desk.ok("dep tree a --format mermaid") == (
            'flowchart TD\n  fleet-a["☐ fleet-a: Task a"]\n  fleet-b["☐ fleet-b: a \\"b\\" c"]\n'
            '  fleet-c["☑ fleet-c: Task c"]\n\n  fleet-a --> fleet-b\n  fleet-a --> fleet-c\n'
        )
        drawn = desk.ok("dep tree a")
        assert "    ├── fleet-b" in drawn
        assert "    └── fleet-c: Task c [P2] (closed) [blocks]" in drawn
        assert [n["id"] for n in desk.json("dep tree a --status closed")] == ["fleet-a", "fleet-c"]
        assert desk.ok("dep tree b --status closed") == "\nfleet-b has no dependencies\n"

    def test_no_cycles(self, desk):
        """The rules keep cycles out, and `dep cycles` says so."""
        assert desk.ok("dep cycles") == "\n✓ No dependency cycles detected\n\n"
        assert desk.json("dep cycles") == []

    def test_related_goes_both_ways(self, desk):
        """`dep relate` links both tasks, twice without harm, and `unrelate` takes both away."""
        desk.tasks("a", "b")
        assert desk.ok("dep relate a b") == "✓ Linked fleet-a ↔ fleet-b\n"
        assert desk.json("dep relate a b")["related"] is True
        assert desk.json("dep list b")[0]["dependency_type"] == "relates-to"
        assert desk.ok("dep unrelate b a") == "✓ Unlinked fleet-b ↔ fleet-a\n"
        assert desk.json("dep list a") == desk.json("dep list b") == []

    def test_a_file_of_edges_is_all_or_nothing(self, desk, tmp_path):
        """A bad line, or an edge that closes a cycle, leaves no edge behind."""
        desk.tasks("a", "b", "c")
        file = tmp_path / "edges"
        file.write_text('{"from":"a","to":"b"}\nbroken\n{"to":"b"}\n')
        said = desk.refused(f"dep add --file {file}")
        assert said.startswith("bulk dependency validation failed:\n  line 2: invalid JSON: ")
        assert "\n  line 3: missing from" in said
        file.write_text('{"from":"a","to":"b"}\n{"from":"b","to":"a"}\n')
        assert "create a cycle" in desk.refused(f"dep add --file {file}")
        assert desk.json("dep list a") == []
        lines = '{"from":"a","to":"b"}\n\n{"issue_id":"a","depends_on_id":"c","type":"related"}\n'
        said = desk("dep add --file - --json", stdin=lines).json
        assert (said["count"], said["status"]) == (2, "added")
        assert said["dependencies"][1] == {
            "issue_id": "fleet-a", "depends_on_id": "fleet-c", "type": "related",
        }  # fmt: skip
        file.write_text("\n")
        assert desk.refused(f"dep add --file {file}") == "no dependency edges found"
        assert "open dependency file: open /none: no such" in desk.refused("dep add --file /none")

    def test_help_for_a_bare_dep(self, desk):
        """`dep` alone, and a group of commands alone, explain themselves."""
        for line in ("dep", "dep a", "label", "label foo", "epic", "kv", "human", "dolt"):
            assert "Usage:" in desk.ok(line)


class TestEpics:
    def test_an_epic_with_closed_children_can_be_closed(self, desk):
        """`epic status` counts, `epic close-eligible` closes what is done, and only that."""
        desk.tasks("e", "f", issue_type="epic")
        for parent in ("e", "e", "f"):
            desk.ok(f"create part --parent fleet-{parent}")
        assert desk.ok("epic status").startswith(
            "○ fleet-e Task e\n   Progress: 0/2 children closed (0%)\n\n"
        )
        assert desk.ok("epic close-eligible") == "No epics eligible for closure\n"
        desk.ok("close fleet-e.1 fleet-e.2")
        assert desk.ok("epic status --eligible-only") == (
            "✓ fleet-e Task e\n   Progress: 2/2 children closed (100%)\n   Eligible for closure\n\n"
        )
        status = desk.json("epic status")[0]
        assert status["epic"]["id"] == "fleet-e"
        assert (status["total_children"], status["closed_children"]) == (2, 2)
        assert status["eligible_for_close"] is True
        assert desk.ok("epic close-eligible --dry-run") == (
            'Would close 1 epic(s) with reason "All children completed":\n  - fleet-e: Task e\n'
        )
        assert desk.json("epic close-eligible -r done") == {
            "closed": ["fleet-e"], "count": 1, "reason": "done", "schema_version": 1,
        }  # fmt: skip
        assert desk.queue.get("fleet-e").close_reason == "done"
        assert [row["epic"]["id"] for row in desk.json("epic status")] == ["fleet-f"]

    def test_children_of_all_statuses(self, desk):
        """`children` lists closed ones too, newest first, and an unknown parent has none."""
        desk.tasks("e", issue_type="epic")
        desk.ok("create one --parent fleet-e")
        desk.clock.pass_(seconds=1)
        desk.ok("create two --parent fleet-e")
        desk.ok("close fleet-e.1")
        assert [row["id"] for row in desk.json("children fleet-e")] == ["fleet-e.2", "fleet-e.1"]
        assert "├── ✓ fleet-e.1" in desk.ok("children fleet-e")
        assert desk.json("children nope") == []
        assert desk.misused("children") == "accepts 1 arg(s), received 0"


class TestTalk:
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
    def test_a_comment_is_kept_as_it_is(self, desk, text):
        """Whatever the text is, after `--` it is text, and it comes back unchanged."""
        desk.tasks("a")
        said = desk(["comment", "--json", "a", "--", text])
        assert said.code == 0
        assert said.json["text"] == text
        assert [one["text"] for one in desk.json("comments a")] == [text]

    def test_comments_are_listed_in_order(self, desk):
        """The oldest first, with author and time, for people and for programs."""
        desk.tasks("a")
        assert desk.ok("comments a") == "No comments on fleet-a\n"
        assert desk.json("comments a") == []
        assert desk.ok("comment a hello there") == "✓ Comment added to fleet-a — Task a\n"
        desk.clock.pass_(minutes=1)
        assert desk.ok("comments add a second -a bob") == "Comment added to fleet-a\n"
        assert desk.ok("comments a") == (
            "\nComments on fleet-a:\n\n[ann] at 2026-11-15 12:00\n  hello there\n\n"
            "[bob] at 2026-11-15 12:01\n  second\n\n"
        )
        first = desk.json("comments a")[0]
        assert first["issue_id"] == "fleet-a"
        assert (first["author"], first["text"]) == ("ann", "hello there")
        assert list(first) == ["id", "issue_id", "author", "text", "created_at"]

    def test_text_from_a_file_or_a_pipe(self, desk, tmp_path):
        """--file and --stdin bring the text as it is; both with words are refused."""
        desk.tasks("a")
        file = tmp_path / "text"
        file.write_text("from a file\n")
        desk.ok(f"comment a --file {file}")
        desk.clock.pass_(seconds=1)
        assert desk("comment a --stdin", stdin="from\na pipe").code == 0
        desk.clock.pass_(seconds=1)
        desk.ok(f"comments add a -f {file}")
        desk.ok(f"note a --file {file}")
        assert [one["text"] for one in desk.json("comments a")][:2] == [
            "from a file\n", "from\na pipe",
        ]  # fmt: skip
        assert desk.queue.get("fleet-a").notes == "from a file\n"
        said = desk.refused(f"comment a x --file {file}")
        assert said == 'cannot combine positional text "x" with --file'

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("comment a", "no comment text provided (use positional args, --stdin, or --file)"),
            ("comment a ''", "comment text cannot be empty"),
            ("comment a --stdin", "comment text cannot be empty"),
            ("comment nope x", 'resolving nope: no issue found matching "nope"'),
            ("comments nope", 'resolving nope: no issue found matching "nope"'),
            ("comments add a", "no comment text provided (use positional args or -f to read"),
            ("note a", "no note text provided (use positional args, --stdin, or --file)"),
            ("note a '  '", "note text cannot be empty"),
            ("note nope x", 'resolving nope: no issue found matching "nope"'),
            ("comment a --file /none", "failed to open file: open /none: no such file"),
        ],
    )
    def test_refusals(self, desk, line, said):
        """What is missing is said in bd's words."""
        desk.tasks("a")
        assert desk.refused(line).startswith(said)

    def test_bytes_that_are_no_text_are_refused(self, desk, tmp_path):
        """Invalid UTF-8 and zero bytes never reach the queue."""
        desk.tasks("a")
        file = tmp_path / "bad"
        file.write_bytes(b"caf\xe9")
        assert "is not valid UTF-8" in desk.refused(f"comment a --file {file}")
        file.write_bytes(b"a\0b")
        assert "zero byte" in desk.refused(f"note a --file {file}")
        said = desk(["comment", "a", "\udce9"])
        assert said.code == 1
        assert "not valid UTF-8" in said.err
        assert desk.json("comments a") == []

    def test_plural_and_singular(self, desk):
        """`comments` takes one id, and `comments list` is no command, as bd explains."""
        desk.tasks("a", "b")
        assert "takes a single issue id" in desk("comments a b").err
        assert desk("comments list a").code == 1
        assert desk.misused("comments") == "requires at least 1 arg(s), only received 0"

    def test_notes_are_appended(self, desk):
        """`note` adds a line to the notes and answers with the task."""
        desk.tasks("a")
        assert desk.ok("note a first one") == "✓ Note added to fleet-a — Task a\n"
        assert desk.json("note a second")["notes"] == "first one\nsecond"


class TestLabels:
    def test_labels_come_and_go(self, desk):
        """Several ids and several labels at once, in the order given."""
        desk.tasks("a", "b")
        assert desk.ok("label add a x") == "✓ Added label 'x' to fleet-a\n"
        assert desk.ok("label add a b y,z") == (
            "✓ Added labels 'y', 'z' to fleet-a\n✓ Added labels 'y', 'z' to fleet-b\n"
        )
        assert desk.json("label list a") == ["x", "y", "z"]
        assert desk.ok("label list b") == "\n🏷 Labels for fleet-b:\n  - y\n  - z\n\n"
        assert desk.ok("label list-all") == (
            "\n🏷 All labels (3 unique):\n  x  (1 issues)\n  y  (2 issues)\n  z  (2 issues)\n\n"
        )
        assert desk.json("label remove a b y")[1] == {
            "issue_id": "fleet-b", "label": "y", "status": "removed",
        }  # fmt: skip
        assert desk.json("label list-all") == [
            {"label": "x", "count": 1}, {"label": "z", "count": 2},
        ]  # fmt: skip
        desk.ok("label remove b z")
        assert desk.ok("label list b") == "\nfleet-b has no labels\n"
        assert desk.json("tag b one")["labels"] == ["one"]
        assert desk.ok("tag b two") == '✓ Added label "two" to fleet-b — Task b\n'

    def test_a_label_for_all_children(self, desk):
        """`label propagate` reaches the children of a task, not the task itself."""
        desk.tasks("e", "k")
        desk.ok("dep add k e -t parent-child")
        assert desk.ok("label propagate e branch:x") == (
            "✓ Propagated label 'branch:x' to fleet-k\n"
        )
        assert desk.json("label list e") == []
        assert desk.json("label propagate k branch:x") == []

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("label add nope x", 'resolving issue ID "nope": no issue found matching "nope"'),
            ("label add a nope x", "pass one comma-separated argument"),
            ("label add a provides:x", "'provides:' labels are reserved"),
            ("label add a ''", "label cannot be empty"),
            ("label list nope", "resolving nope: no issue found"),
            ("label propagate nope x", "resolving parent nope: no issue found"),
            ("tag nope x", "resolving nope: no issue found"),
        ],
    )
    def test_refusals(self, desk, line, said):
        """Unknown tasks and reserved labels change nothing."""
        desk.tasks("a")
        assert said in desk.refused(line)
        assert desk.json("label list a") == []

    def test_a_label_with_a_space_is_warned_of(self, desk):
        """Whoever separates labels by spaces gets one label, and is told."""
        desk.tasks("a")
        said = desk(["label", "add", "a", "a b"])
        assert said.err.startswith('⚠ Stored "a b" as ONE label')
        assert desk.json("label list a") == ["a b"]
