"""Command lines that other programs and bd's own documentation use, on fleet's own queues."""

import json
import os

import pytest

from fleet import config
from fleet.bd.actor import actor, owner
from fleet.home import Home, make_home
from fleet.queue import open_queue
from tests import warm


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


class TestVerbs:
    def test_stale_lists_what_was_not_changed_for_days(self, bd):
        """The oldest change first; closed tasks and fresh ones are not in the list."""
        bd.tasks("a", "b", "c", "d", labels=("x",))
        bd.ok("close c")
        bd.ok("update d -s blocked")
        bd.clock.pass_(days=31)
        bd.ok("update b --title new")
        assert [row["id"] for row in bd.json("stale")] == ["fleet-a"]
        assert [row["id"] for row in bd.json("stale --status blocked")] == ["fleet-d"]
        bd.clock.pass_(days=2)
        assert [row["id"] for row in bd.json("stale --days 1 --limit 5")] == ["fleet-a", "fleet-b"]
        assert bd.json("stale --label y") == []
        assert bd.refused("stale --days 0") == "--days must be at least 1"
        assert bd.refused("stale --status closed").startswith("invalid status 'closed'")

    @pytest.mark.parametrize(
        ("line", "edge", "names"),
        [
            ("supersede a --with b", "supersedes", ("superseded", "replacement")),
            ("duplicate a --of b", "duplicates", ("duplicate", "canonical")),
        ],
    )
    def test_a_task_that_another_stands_for_is_closed_and_connected(self, bd, line, edge, names):
        """The reader of the closed one finds the other."""
        bd.tasks("a", "b")
        old, new = names
        assert bd.json(line) == {
            old: "fleet-a", new: "fleet-b", "status": "closed", "schema_version": 1,
        }  # fmt: skip
        shown = bd.json("show a")[0]
        assert shown["status"] == "closed"
        assert shown["dependencies"][0]["dependency_type"] == edge
        assert bd.json("ready --type task")[0]["id"] == "fleet-b"
        bd.ok(line)
        flag = line.split()[2]
        assert bd.refused(f"{line.split()[0]} b {flag} b").startswith("cannot mark an issue as")
        assert "not set" in bd.refused(f"{line.split()[0]} b")

    def test_a_heartbeat_renews_the_holders_claim_alone(self, bd):
        """Agents outside fleet keep their claims by it."""
        bd.tasks("a", "b")
        bd.ok("update a --claim")
        bd.clock.pass_(minutes=4)
        answer = bd.json("heartbeat a")
        assert (answer["id"], answer["owner"], answer["status"]) == ("fleet-a", "ann", "heartbeat")
        assert bd.json("show a")[0]["lease_expires_at"] == "2026-11-15T12:09:02Z"
        assert bd.json("hb a")["id"] == "fleet-a"
        assert "already claimed by ann" in bd.refused("heartbeat a", BEADS_ACTOR="bob")
        assert "fleet-b status open" in bd.refused("heartbeat b")

    def test_named_values_are_kept_beside_memories(self, bd):
        """Scripts keep their state with the queue; a memory cannot be smuggled in."""
        assert bd.json("kv set deploy staging") == {
            "key": "deploy", "value": "staging", "schema_version": 1,
        }  # fmt: skip
        assert bd.ok("kv get deploy") == "staging\n"
        assert bd.json("kv list") == {"deploy": "staging", "schema_version": 1}
        missing = bd("kv get nope --json")
        assert (missing.code, missing.json["found"]) == (1, False)
        assert "reserved" in bd.refused("kv set memory.x y")
        bd.ok("kv clear deploy")
        assert bd.json("kv list") == {"schema_version": 1}
        assert bd.json("memories") == {"schema_version": 1}

    def test_ping_says_how_long_it_took(self, bd):
        """A health check reads the figure."""
        assert bd.json("ping")["total_ms"] >= 0

    def test_what_is_as_wished_already_is_told_in_one_sentence(self, bd):
        """With the status, as in bd; it is no failure."""
        bd.tasks("a")
        for line, said in (
            ("undefer a", "fleet-a is not deferred (status: open)"),
            ("reopen a", "fleet-a is already open"),
        ):
            answer = bd(line)
            assert (answer.code, answer.err) == (0, f"{said}\n")
        assert bd.refused("defer a --reason '  '") == "reason cannot be empty"


class TestSettings:
    def test_a_type_of_a_clients_own_is_one_as_soon_as_it_is_set(self, bd):
        """Gascity and gastown name theirs at set-up."""
        assert "invalid issue type" in bd.refused("create x -t convoy")
        assert bd.json("config set types.custom 'convoy, slot'")["key"] == "types.custom"
        assert bd.ok("config get types.custom") == "convoy, slot\n"
        made = bd.new("x -t convoy")
        assert bd.json("list --type convoy")[0]["id"] == made
        bd.ok(f"update {made} -t slot")
        bd.ok("config unset types.custom")
        assert bd.json("config get types.custom")["value"] == ""
        assert "invalid issue type" in bd.refused("create x -t convoy")

    def test_a_status_of_a_clients_own_is_shown_and_found(self, bd):
        """No such task is work, and one of category done is closed."""
        bd.ok("config set status.custom 'in_review:wip,staged,parked:frozen,shipped:done'")
        bd.tasks("a", "b", "c", "d", "e")
        for name, status in zip("abcd", ("in_review", "staged", "parked", "shipped"), strict=True):
            (changed,) = bd.json(f"update {name} --status {status}")
            assert changed["status"] == status
            assert bd.json(f"list --status {status}")[0]["id"] == f"fleet-{name}"
            assert f"  {status}" in bd.ok("list --all")
        assert [row["id"] for row in bd.json("ready")] == ["fleet-e"]
        assert [row["id"] for row in bd.json("list --status staged,open")] == ["fleet-e", "fleet-b"]
        assert "fleet-d" not in [row["id"] for row in bd.json("list")]
        bd.ok("update a --status open")
        bd.ok("undefer c")
        bd.ok("reopen d")
        assert [row["status"] for row in bd.json("show a c d")] == ["open"] * 3
        bd.ok("update c --status deferred")
        assert bd.json("show c")[0]["status"] == "deferred"

    def test_an_export_brings_such_a_status_back(self, bd):
        """Every line of an export can be imported again."""
        bd.ok("config set status.custom staged")
        bd.tasks("a")
        bd.ok("update a -s staged")
        lines = bd.ok("export")
        assert '"status":"staged"' in lines
        bd.ok("delete a --force")
        bd("import -", stdin=lines)
        assert bd.json("show a")[0]["status"] == "staged"
        assert bd.json("ready") == []

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("config set status.custom a:b", 'invalid category "b" for status "a"'),
            ("config set status.custom open", 'invalid status "open"'),
            ("config set jira.url x", "`bd config set jira.url` means nothing"),
        ],
    )
    def test_a_setting_that_would_do_nothing_is_refused(self, bd, line, why):
        """A value that is stored and ignored would lie."""
        assert bd.refused(line).startswith(why)


class TestClaims:
    def test_an_import_does_not_lengthen_a_claim_that_lives(self, bd):
        """The edit lands; the signs of life of the holder here count."""
        bd.tasks("a")
        bd.ok("update a --claim")
        before = bd.json("show a")[0]
        line = {
            **before, "updated_at": "2026-11-15T20:00:00Z", "notes": "from elsewhere",
            "heartbeat_at": "2026-11-16T12:00:00Z", "lease_expires_at": "2026-11-17T12:00:00Z",
        }  # fmt: skip
        assert bd("import -", stdin=json.dumps(line)).code == 0
        after = bd.json("show a")[0]
        assert after["notes"] == "from elsewhere"
        assert after["lease_expires_at"] == before["lease_expires_at"]


def test_the_author_is_the_one_that_the_repository_names(tmp_path):
    """Git's order: the repository's own user comes before the user's, as in a container without."""
    (tmp_path / "repo/.git/refs").mkdir(parents=True)
    (tmp_path / "repo/.git/objects").mkdir()
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo/.git/config").write_text("[user]\n\tname = Bot\n\temail = bot@x\n")
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@x\n")
    (tmp_path / "repo/below").mkdir()
    env = {"HOME": str(tmp_path)}
    assert actor(env, tmp_path / "repo/below") == "Bot"
    assert owner(env, tmp_path / "repo/below") == "bot@x"
    assert (actor(env), owner(env)) == ("Ann", "ann@x")
    assert actor({**env, "BEADS_ACTOR": "cy"}, tmp_path / "repo") == "cy"


def test_create_prints_bds_flat_object_unless_the_envelope_is_asked_for(bd):
    """Bd 1.3 prints the object; older clients set the variable and read `data`."""
    flat = bd.json("create one")
    assert flat["title"] == "one"
    assert "data" not in flat
    wrapped = bd.json("create two", BD_JSON_ENVELOPE="1")
    assert wrapped["data"]["title"] == "two"
    assert wrapped.keys() == {"data", "schema_version"}


def test_create_prints_the_same_on_postgresql(tmp_path, postgres_dsn):
    """A client does not know which queue a home has."""
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue=postgres_dsn))
    open_queue(home.path, config.load(home.config), may_make=True).close()
    env = {**os.environ, "FLEET_HOME": str(home.path)}

    def create(**more):
        done = warm.fleet(
            ("bd", "create", "one", "--json"), env={**env, **more}, cwd=tmp_path, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert create()["title"] == "one"
    wrapped = create(BD_JSON_ENVELOPE="1")
    assert (wrapped["data"]["title"], wrapped.keys()) == ("one", {"data", "schema_version"})
