"""bd's commands for clearing up, for people, for memories, and about the queue itself."""

import pytest

from fleet.queue.protocol import Draft


class TestDelete:
    def test_without_force_it_is_a_preview(self, desk):
        """The preview names what would go, and nothing goes."""
        desk.tasks("a", "b")
        desk.ok("dep add a b")
        assert desk.ok("delete a") == (
            "\n⚠️  DELETE PREVIEW\n\nIssue to delete:\n  fleet-a: Task a\n\n"
            "Dependency links to remove: 1\n  fleet-a → fleet-b (blocks)\n\n"
            "Connected issues where text references will be updated:\n"
            "  (none have text references)\n\n"
            "This operation cannot be undone!\nTo proceed, run: bd delete fleet-a --force\n\n"
        )
        assert desk.json("delete a") == {
            "cascade": False,
            "dry_run": False,
            "issue_ids": ["fleet-a"],
            "preview": True,
            "schema_version": 1,
            "would_delete": 1,
            "would_orphan": 0,
            "would_remove_dependencies": 1,
            "would_remove_events": 0,
            "would_remove_labels": 0,
        }
        assert desk.ok("delete a b --dry-run").endswith(
            "Issues to delete (2):\n  fleet-a: Task a\n  fleet-b: Task b\n\n"
            "Would delete: 2 issues\nWould remove: 1 dependencies, 0 labels, 0 events\n\n"
            "(Dry-run mode - no changes made)\n"
        )
        assert len(desk.json("list")) == 2

    def test_dependents_forbid_it(self, desk):
        """What others wait for needs --cascade or --force; both channels say so."""
        desk.tasks("a", "b")
        desk.ok("dep add b a")
        message = (
            "issue fleet-a has dependents not in deletion set;"
            " use --cascade to delete them or --force to orphan them"
        )
        said = desk("delete a")
        assert said.code == 1
        assert said.out.endswith(f"Issues to delete (1):\n  fleet-a: Task a\n\n{message}\n")
        assert said.err == f"Error: previewing deletion: {message}\n"
        said = desk("delete a --json")
        assert said.json["error"] == message
        assert said.json["preview"] is True
        assert message in said.err

    def test_force_deletes_and_mends_texts(self, desk):
        """Links go, and those who spoke of it now speak of `[deleted:ID]`, by whole ids only."""
        desk.tasks("a", "b")
        desk.ok(["update", "fleet-b", "-d", "see fleet-a, not fleet-ab or xfleet-a or fleet-a.1"])
        desk.ok("dep add b a -t related")
        assert desk.ok("delete a --force") == (
            "✓ Deleted fleet-a\n  Removed 1 dependency link(s)\n"
            "  Updated text references in 1 issue(s)\n"
        )
        assert desk.queue.get("fleet-b").description == (
            "see [deleted:fleet-a], not fleet-ab or xfleet-a or fleet-a.1"
        )
        assert desk.json("delete b --force") == {
            "deleted": "fleet-b",
            "dependencies_removed": 0,
            "references_updated": 0,
            "schema_version": 1,
        }
        assert desk.json("list --all") == []

    def test_cascade_takes_all_that_depend(self, desk):
        """Also what depends on what depends on it, and nothing else."""
        desk.tasks("a", "b", "c", "d")
        for edge in ("b a", "c b"):
            desk.ok(f"dep add {edge}")
        desk.ok("label add c x")
        assert "Would delete: 3 issues" in desk.ok("delete a --cascade")
        assert desk.json("delete a --cascade --force") == {
            "deleted": ["fleet-a"],
            "deleted_count": 3,
            "dependencies_removed": 2,
            "events_removed": 0,
            "labels_removed": 1,
            "orphaned_issues": None,
            "references_updated": 0,
            "schema_version": 1,
        }
        assert [row["id"] for row in desk.json("list")] == ["fleet-d"]

    def test_an_unknown_id_deletes_nothing(self, desk, tmp_path):
        """One id that means no task, or too many, stops the whole command."""
        desk.tasks("a", "ab", "ac")
        assert desk.misused("delete nope --force") == "issue nope not found"
        assert desk.misused("delete a nope nada --force") == "issues not found: nope, nada"
        desk.ok("delete a --force")
        assert desk.misused("delete a --force").startswith('ambiguous issue ID: "a" matches 2')
        assert desk.misused("delete").startswith("no issue IDs provided\nUsage:")
        file = tmp_path / "ids"
        file.write_text("fleet-ab\n# why\n\nfleet-ac\n")
        assert desk.json(f"delete --from-file {file} --force")["deleted_count"] == 2
        assert "reading file: open /none: no such file" in desk.refused("delete --from-file /none")


class TestAttention:
    def test_forgotten_tasks(self, desk):
        """`stale` lists open work that nothing touched, the longest forgotten first."""
        desk.tasks("a", "b", "c")
        desk.ok("update b --claim --actor bob")
        desk.ok("defer c")
        assert desk.ok("stale") == "\n✨ No stale issues found (all active)\n\n"
        desk.clock.pass_(days=31)
        assert desk.ok("stale") == (
            "\n⏰ Stale issues (2 not updated in 30+ days):\n\n"
            "1. [P2] fleet-a: Task a\n   Status: open, Last updated: 31 days ago\n\n"
            "2. [P2] fleet-b: Task b\n   Status: in_progress, Last updated: 31 days ago\n"
            "   Assignee: bob\n\n"
        )
        assert [row["id"] for row in desk.json("stale -n 1")] == ["fleet-a"]
        assert [row["id"] for row in desk.json("stale -s deferred")] == ["fleet-c"]
        assert desk.json("stale -d 40") == []
        assert desk.refused("stale -d 0") == "--days must be at least 1"
        assert desk.refused("stale -s closed").startswith("invalid status 'closed'. Valid values:")

    def test_what_waits_for_a_person(self, desk):
        """The label `human` brings a task into the list; an answer or a dismissal closes it."""
        assert desk.ok("human list") == "No human-needed beads found.\n"
        assert desk.json("human list") == []
        desk.tasks("a", "b", "c")
        desk.ok("label add a b c human")
        assert desk.ok("human list").startswith(
            "\nHuman-needed beads (3 found)\n\n  fleet-c Task c\n    Priority: P2\n\n"
        )
        assert desk.ok("human respond a yes, do it") == "✔ Bead fleet-a closed with response.\n"
        assert desk.ok("human dismiss b --reason moot") == "✔ Bead fleet-b dismissed.\n"
        assert [one["text"] for one in desk.json("comments a")] == ["Response: yes, do it"]
        assert desk.queue.get("fleet-a").close_reason == "Responded"
        assert desk.queue.get("fleet-b").close_reason == "Dismissed: moot"
        assert [row["id"] for row in desk.json("human list")] == ["fleet-c"]
        assert len(desk.json("human list --status all")) == 3
        assert desk.ok("human stats") == (
            "\nHuman Beads Stats\n\n"
            "  Total:      3\n  Pending:    1\n  Responded:  1\n  Dismissed:  1\n\n"
        )
        assert desk.json("human stats")["responded"] == 1

    def test_human_refusals(self, desk):
        """No text, an unknown task, one that is closed: each is said."""
        desk.tasks("a")
        assert desk.refused("human respond a").startswith("no response text provided")
        assert desk.refused("human respond nope x").startswith("resolving issue ID nope: no issue")
        assert "invalid status" in desk.refused("human list --status bogus")
        said = desk("human respond a -r ok")
        assert said.err == "Warning: Issue fleet-a does not have 'human' label\n"
        assert desk.refused("human dismiss a") == "issue fleet-a is already closed"


class TestMemories:
    def test_a_memory_is_kept_until_it_is_forgotten(self, desk):
        """Its name comes from its first words; a second time it is replaced."""
        assert desk.ok("memories").startswith("No memories stored.")
        assert desk.json("memories") == {"schema_version": 1}
        text = "Always run tests with the -race flag, on every single push"
        assert desk.ok(["remember", text]) == (
            f"Remembered [always-run-tests-with-the-race-flag-on]: {text}\n"
        )
        assert desk.json(["remember", "new text", "--key", "k"])["action"] == "remembered"
        assert desk.ok(["remember", "newer text", "--key", "k"]) == "Updated [k]: newer text\n"
        assert desk.ok("recall k") == "newer text\n"
        assert desk.json("recall k")["found"] is True
        assert list(desk.json("memories RACE")) == [
            "always-run-tests-with-the-race-flag-on", "schema_version",
        ]  # fmt: skip
        assert desk.ok("memories newer") == 'Memories matching "newer":\n\n  k\n    newer text\n\n'
        assert desk.ok("memories zz") == 'No memories matching "zz"\n'
        assert desk.ok("forget k") == "Forgot [k]: newer text\n"
        gone = desk("forget k")
        assert (gone.code, gone.err) == (1, 'No memory with key "k"\n')
        assert desk("recall k --json").json == {
            "found": False, "key": "k", "schema_version": 1, "value": "",
        }  # fmt: skip
        assert desk("forget k --json").json["found"] == "false"

    def test_a_bare_word_reads(self, desk):
        """`remember key` recalls, and an unknown bare word is not stored as its own content."""
        desk.ok(["remember", "some text", "--key", "k2"])
        said = desk("remember k2")
        assert said.out == "some text\n"
        assert "a bare existing key READS" in said.err
        assert desk.json("remember k2")["action"] == "recalled"
        assert desk.refused("remember other").startswith('no memory named "other" to recall')
        assert desk.refused("remember ''") == "memory content cannot be empty"
        assert desk.refused(["remember", "日本 語"]).startswith("could not generate key")
        assert desk.misused("remember a b") == "accepts 1 arg(s), received 2"

    def test_long_memories_are_cut_only_where_they_are_shown(self, desk):
        """The list shows a line; `recall` gives all of it."""
        text = "word " * 60 + "\nsecond line"
        assert desk.ok(["remember", text, "--key", "k"]).endswith("wo...\n")
        assert "second line" not in desk.ok("memories")
        assert desk.ok("recall k") == f"{text}\n"

    def test_named_values(self, desk):
        """`kv` keeps plain values beside the memories, which it lists as well."""
        assert desk.ok("kv list") == "No key-value pairs set\n"
        assert desk.ok("kv set a 1") == "Set a = 1\n"
        assert desk.json("kv set a 2") == {"key": "a", "schema_version": 1, "value": "2"}
        desk.ok(["remember", "a thing", "--key", "m"])
        assert desk.ok("kv list") == "\nKey-Value Store:\n  a = 2\n  memory.m = a thing\n"
        assert desk.json("kv list") == {"a": "2", "memory.m": "a thing", "schema_version": 1}
        assert desk.ok("kv get a") == "2\n"
        assert desk("kv get b").err == "b (not set)\n"
        assert desk("kv get b --json").json["found"] is False
        assert desk.ok("kv clear a") == desk.ok("kv clear a") == "Cleared a\n"
        assert desk.json("kv clear a")["deleted"] == "true"
        assert "reserved for persistent memories" in desk.refused("kv set memory.x 1")
        assert 'reserved prefix "sync."' in desk.refused("kv set sync.x 1")
        assert desk.queue.add(Draft(title="ids still work")).id.startswith("fleet-")


class TestAbout:
    def test_where_the_queue_is(self, desk):
        """where, context, info and ping name the queue, for people and programs."""
        address = desk.queue.db.address
        assert desk.ok("where").splitlines()[0] == address
        assert desk.json("where")["prefix"] == "fleet"
        assert desk.json("context")["backend"] == "fleet"
        desk.tasks("a")
        assert desk.json("info")["issue_count"] == 1
        assert "Issue Count: 1" in desk.ok("info")
        assert desk.ok("ping").startswith("✓ bd ping: ok (")
        assert desk.json("ping")["status"] == "ok"
        assert desk.json("version")["version"] == "1.3.0"

    def test_there_is_nothing_to_make_or_push(self, desk):
        """init, dolt and sync succeed and say that there is nothing to do."""
        said = desk("init --stealth --non-interactive -q -p fleet")
        assert said.code == 0
        assert "the queue is there already" in said.err
        for line in ("dolt push", "dolt pull --remote x", "sync", "dolt commit -m x"):
            assert desk.ok(line).startswith("Nothing to ")
        assert desk.json("dolt push")["status"] == "no-remote"
        assert desk.json("sync") == {
            "attempts": 0, "pushed": False, "rows_corrected": 0,
            "schema_version": 1, "status": "no-remote",
        }  # fmt: skip
        assert desk.json("dolt status")["server_running"] is False
        assert desk.ok("dolt remote list") == "No remotes configured.\n"

    @pytest.mark.parametrize(
        "line", ["setup claude --check", "hooks install", "doctor --check=artifacts", "dolt start"]
    )
    def test_what_needs_beads_is_refused(self, desk, line):
        """Commands that would set bd up say that they belong to bd."""
        assert "belongs to beads (bd)" in desk.refused(line)

    @pytest.mark.parametrize(
        "line",
        [
            "dep add a b", "dep list a", "dep tree a", "dep cycles", "dep relate a b", "comments a",
            "comment a x", "note a x", "label add a x", "label list a", "label list-all", "tag a x",
            "assign a x", "priority a 1", "defer a", "stale", "human list", "human stats", "where",
            "remember 'x y'", "memories", "kv list", "reclaim", "delete a", "epic status", "ping",
            "info", "context", "dolt push", "sync", "version", "children a", "recall none",
            "dep add a none", "export-is-not-enveloped",
        ],
    )  # fmt: skip
    def test_the_envelope(self, desk, line):
        """With BD_JSON_ENVELOPE=1 every JSON answer stands under `data`."""
        if line.startswith("export"):
            desk.tasks("a")
            assert desk("export --json", BD_JSON_ENVELOPE="1").out.startswith('{"_type":"issue"')
            return
        desk.tasks("a", "b")
        said = desk(f"{line} --json", BD_JSON_ENVELOPE="1")
        assert list(said.json) == ["data", "schema_version"]
        assert said.json["schema_version"] == 1

    def test_read_only_mode_forbids_every_change(self, desk):
        """--readonly refuses what writes, in bd's words, and lets reading through."""
        desk.tasks("a", "b")
        before = desk("export --all").out
        writing = (
            "dep add a b", "comment a x", "label add a x", "defer a", "delete a --force",
            "remember 'x y'", "kv set a 1", "unclaim a", "import -", "assign a x",
        )  # fmt: skip
        for line in writing:
            said = desk(f"--readonly {line}")
            assert said.code == 1
            assert "is not allowed in read-only mode" in said.err
        assert desk("export --all").out == before
        assert desk("--readonly dep list a").code == 0
