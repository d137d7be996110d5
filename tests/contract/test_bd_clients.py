"""Command lines that other programs and bd's own documentation use, on fleet's own queues."""

import pytest


class TestFinding:
    @pytest.fixture
    def shelf(self, bd):
        """Tasks that each filter tells apart."""
        bd.tasks("a", "b", "c", "d", description="what it is about")
        bd.ok("update a --add-label tech-debt --external-ref GH-9")
        bd.ok("update b --add-label tech-legacy,x --defer 2026-12-01")
        bd.ok("update c -s pinned --add-label Tech-x")
        bd.ok("update d --description ''")
        for kind in ("gate", "message"):
            bd.new(f"{kind} --id fleet-{kind} -t {kind} -d text")

    @pytest.mark.parametrize(
        ("filters", "names"),
        [
            ("--label-pattern 'tech-*'", "a b"),
            ("--label-pattern 'tech-d?bt'", "a"),
            ("--label-pattern 'tech-[dl]*'", ""),
            ("--label-regex 'debt|^x$'", "a b"),
            ("--label-regex ech --all", "a b c"),
            ("--external-contains gh-", "a"),
            ("--empty-description", "d"),
            ("--pinned", "c"),
            ("--no-pinned --all", "a b d"),
            ("--defer-after 2026-11-30", "b"),
            ("--defer-before 2026-11-30", ""),
            ("--include-infra", "a b d message"),
            ("--include-gates", "a b d gate"),
            ("--include-infra --include-gates --include-templates --limit 0", "a b d gate message"),
        ],
    )
    def test_each_filter_of_bd_finds_what_it_names(self, bd, shelf, filters, names):
        """What a client asks for decides, and nothing that only looks alike."""
        found = bd.json(f"list {filters}")
        assert sorted(row["id"] for row in found) == [f"fleet-{name}" for name in names.split()]

    def test_label_forms_hold_for_ready_search_and_count(self, bd, shelf):
        """One filter means one thing in every command that takes it."""
        assert [row["id"] for row in bd.json("ready --label-pattern 'tech-d*'")] == ["fleet-a"]
        assert [row["id"] for row in bd.json("search task --empty-description")] == ["fleet-d"]
        assert bd.json("count --label-regex ech")["count"] == 3

    def test_an_expression_that_cannot_be_read_is_refused(self, bd):
        """An empty list would say that nothing has such a label."""
        assert 'invalid --label-regex "a("' in bd.refused("list --label-regex 'a('")

    @pytest.mark.parametrize("line", ["list", "ready", "dep tree a"])
    def test_more_rows_than_max_rows_is_exit_code_two(self, bd, line):
        """A script that set a limit hears of it, and takes no part for the whole."""
        bd.tasks("a", "b")
        bd.ok("dep add a b -t related")
        assert len(bd.json(f"{line} --max-rows 2")) == 2
        for said in (bd(f"{line} --max-rows 1 --json"), bd(f"{line} --json", BEADS_MAX_ROWS="1")):
            assert (said.code, said.out) == (2, "")
            assert "too many rows: 2 found, --max-rows=1 exceeded" in said.err

    def test_skip_labels_leaves_the_labels_out(self, bd, shelf):
        """The rows stand in an object that says so, as in bd."""
        answer = bd.json("list --skip-labels --pinned")
        assert answer["meta"] == {"count": 1, "skip_labels": True}
        assert [row["labels"] for row in answer["issues"]] == [[]]
        assert "Tech-x" not in bd.ok("list --skip-labels --pinned")
        said = bd("list --skip-labels --label x")
        assert said.code == 2
        assert "--skip-labels cannot be combined with --label" in said.err

    def test_pretty_shows_children_below_their_parent(self, bd):
        """A person reads the families at a glance."""
        bd.tasks("a", "c")
        bd.new("child --parent fleet-a")
        for line in ("list --pretty --sort id", "children fleet-a --pretty"):
            rows = bd.ok(line).splitlines()
            assert rows[0].startswith("fleet-a ")
            assert rows[1].startswith("  fleet-a.1 ")
            assert rows[-1].startswith("Total: ")

    def test_stats_without_blocked_look_at_no_dependency(self, bd):
        """The two figures that need them are null, as in bd."""
        answer = bd.json("stats --no-blocked")
        assert answer["blocked_count_skipped"] is True
        assert answer["summary"]["blocked_issues"] is None
        assert answer["summary"]["ready_issues"] is None
        assert answer["summary"]["total_issues"] == 0


class TestShow:
    def test_children_and_refs_are_shown_by_the_id_that_was_asked_for(self, bd):
        """The two forms of bd, which leave the task itself out."""
        bd.tasks("a", "b")
        child = bd.new("child --parent fleet-a")
        bd.ok("dep add b a")
        assert [row["id"] for row in bd.json("show a --children")["fleet-a"]] == [child]
        refs = bd.json("show a --refs")["fleet-a"]
        assert {row["id"]: row["dependency_type"] for row in refs} == {
            child: "parent-child",
            "fleet-b": "blocks",
        }
        assert child in bd.ok("show a --children")
        assert bd.ok("show b --children") == "fleet-b:\n  none\n"

    def test_brief_deps_identify_and_no_more(self, bd):
        """A client that only wants ids is not sent the texts."""
        bd.tasks("a", "b", description="long")
        bd.ok("dep add a b")
        (near,) = bd.json("show a --brief-deps")[0]["dependencies"]
        assert "description" not in near
        assert (near["id"], near["dependency_type"]) == ("fleet-b", "blocks")


class TestFiles:
    def test_edges_come_from_a_file_all_or_none(self, bd):
        """A wrong line in the middle leaves no edge behind."""
        bd.tasks("a", "b", "c")
        lines = '{"from": "a", "to": "b"}\n\n{"issue_id": "b", "depends_on_id": "c"}\n'
        answer = bd("dep add --file - --json", stdin=lines).json
        assert answer["count"] == 2
        assert answer["dependencies"][1]["type"] == "blocks"
        assert bd.json("dep list a")[0]["id"] == "fleet-b"
        wrong = '{"from": "c", "to": "a", "type": "related"}\n{"from": "a"}\n'
        said = bd("dep add --file -", stdin=wrong)
        assert said.code == 1
        assert said.err.startswith("Error: line 2: ")
        assert bd.json("dep list c") == []

    def test_ids_to_delete_come_from_a_file(self, bd, tmp_path):
        """One a line, with comments, as bd's help says."""
        bd.tasks("a", "b", "c")
        (tmp_path / "ids").write_text("# old\nfleet-a\n\nb\n")
        bd.ok(f"delete --from-file {tmp_path}/ids --force")
        assert [row["id"] for row in bd.json("list")] == ["fleet-c"]

    def test_an_export_leaves_out_what_some_actors_made(self, bd):
        """A shared file need not hold the tasks of a bot."""
        bd.new("mine --id fleet-a")
        bd.ok("create theirs --id fleet-b", BEADS_ACTOR="bot")
        lines = bd.ok("export --exclude-owner bot --exclude-owner nobody").splitlines()
        assert len(lines) == 1
        assert '"fleet-a"' in lines[0]


class TestTexts:
    def test_prime_prints_no_more_memories_than_the_line_allows(self, bd):
        """Whole memories, and how many are left out."""
        for name in ("one", "two", "six"):
            bd.ok(f"remember 'About {name} and more' --key {name}")
        few = bd.ok("prime --memories-only --max-memories 1")
        assert "### one" in few
        assert "### two" not in few
        assert "2 more: bd memories" in few
        short = bd.ok("prime --memories-only --max-memory-chars 40")
        assert short.count("### ") == 1

    def test_validate_wants_the_sections_of_the_type(self, bd):
        """The line is refused before anything is made."""
        said = bd.refused("create x -t bug --validate -d '## Acceptance Criteria'")
        assert said == "missing required sections for bug: ## Steps to Reproduce"
        bd.ok("create x -t chore --validate")
        bd.ok("create x -t task --validate -d 'it works\n## acceptance criteria\nx'")

    def test_a_tree_is_reversed_by_the_older_flag_too(self, bd):
        """--reverse is bd's older word for --direction=up."""
        bd.tasks("a", "b")
        bd.ok("dep add b a")
        assert bd.json("dep tree a --reverse") == bd.json("dep tree a --direction up")
