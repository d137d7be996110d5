"""bd's commands for deleting, for people, for memories, and about the queue itself."""

import pytest


class TestDelete:
    def test_without_force_it_is_a_preview(self, bd):
        """The preview names what would go, and nothing goes."""
        bd.tasks("a", "b")
        bd.ok("dep add a b")
        assert bd.ok("delete a") == (
            "Would delete 1 issue(s):\n  fleet-a: Task a\n  with 1 dependencies\n"
            "Nothing was deleted: --force deletes for good.\n"
        )
        assert bd.json("delete a") == {
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
        assert bd.ok("delete a b --dry-run --force").startswith("Would delete 2 issue(s):\n")
        assert len(bd.json("list")) == 2

    def test_dependents_forbid_it(self, bd):
        """A task that others depend on needs --cascade or --force."""
        bd.tasks("a", "b")
        bd.ok("dep add b a")
        assert bd.refused("delete a") == (
            "issue fleet-a has dependents not in deletion set;"
            " use --cascade to delete them or --force to orphan them"
        )

    def test_force_deletes_and_mends_texts(self, bd):
        """Links go, and texts that named the task now say `[deleted:ID]`, by whole ids only."""
        bd.tasks("a", "b")
        bd.ok(["update", "fleet-b", "-d", "see fleet-a, not fleet-ab or xfleet-a or fleet-a.1"])
        bd.ok("dep add b a -t related")
        assert bd.ok("delete a --force").startswith("Deleted 1 issue(s):\n  fleet-a: Task a\n")
        assert bd.queue.get("fleet-b").description == (
            "see [deleted:fleet-a], not fleet-ab or xfleet-a or fleet-a.1"
        )
        assert bd.json("delete b --force") == {
            "deleted": "fleet-b",
            "dependencies_removed": 0,
            "references_updated": 0,
            "schema_version": 1,
        }
        assert bd.json("list --all") == []

    def test_cascade_takes_all_that_depend(self, bd):
        """Also what depends on what depends on it, and nothing else."""
        bd.tasks("a", "b", "c", "d")
        for edge in ("b a", "c b"):
            bd.ok(f"dep add {edge}")
        bd.ok("label add c x")
        assert "Would delete 3 issue(s)" in bd.ok("delete a --cascade")
        assert bd.json("delete a --cascade --force") == {
            "deleted": ["fleet-a"],
            "deleted_count": 3,
            "dependencies_removed": 2,
            "events_removed": 0,
            "labels_removed": 1,
            "orphaned_issues": None,
            "references_updated": 0,
            "schema_version": 1,
        }
        assert [row["id"] for row in bd.json("list")] == ["fleet-d"]

    def test_an_unknown_id_deletes_nothing(self, bd):
        """One id that means no task, or too many, stops the whole command."""
        bd.tasks("a", "ab", "ac")
        assert bd.refused("delete a nope nada --force") == "issues not found: nope, nada"
        bd.ok("delete a --force")
        assert bd.refused("delete a --force").startswith('ambiguous issue ID: "a" matches 2')
        assert bd.refused("delete").startswith("requires at least 1 arg(s)")


def test_what_waits_for_a_person(bd):
    """The label `human` brings a task into the list."""
    assert bd.ok("human list") == "No issues wait for a person.\n"
    assert bd.json("human list") == []
    bd.tasks("a", "b", "c")
    bd.ok("label add a b human")
    assert bd.ok("human list").endswith("2 issues\n")
    bd.ok("close a")
    assert [row["id"] for row in bd.json("human list")] == ["fleet-b"]
    assert len(bd.json("human list --status all")) == 2
    assert "invalid status" in bd.refused("human list --status bogus")


class TestMemories:
    def test_a_memory_is_kept_until_it_is_forgotten(self, bd):
        """Its name comes from its first words; a second time it is replaced."""
        assert bd.ok("memories") == "No memories found.\n"
        assert bd.json("memories") == {"schema_version": 1}
        text = "Always run tests with the -race flag, on every single push"
        assert bd.ok(["remember", text]) == (
            f"Remembered [always-run-tests-with-the-race-flag-on]: {text}\n"
        )
        assert bd.json(["remember", "new text", "--key", "k"])["action"] == "remembered"
        assert bd.ok(["remember", "newer text", "--key", "k"]) == "Updated [k]: newer text\n"
        assert bd.ok("recall k") == "newer text\n"
        assert bd.json("recall k")["found"] is True
        assert list(bd.json("memories RACE")) == [
            "always-run-tests-with-the-race-flag-on", "schema_version",
        ]  # fmt: skip
        assert bd.ok("memories newer") == "k: newer text\n"
        assert bd.ok("memories zz") == "No memories found.\n"
        assert bd.ok("forget k") == "Forgot [k]: newer text\n"
        gone = bd("forget k")
        assert (gone.code, gone.err) == (1, 'No memory with key "k"\n')
        assert bd("recall k --json").json == {
            "found": False, "key": "k", "schema_version": 1, "value": "",
        }  # fmt: skip
        assert bd("forget k --json").json["found"] == "false"

    def test_a_bare_word_reads(self, bd):
        """`remember key` recalls, and an unknown bare word is not stored as its own content."""
        bd.ok(["remember", "some text", "--key", "k2"])
        assert bd.ok("remember k2") == "some text\n"
        assert bd.json("remember k2")["action"] == "recalled"
        assert bd("remember other --json").json["error"].startswith('no memory named "other"')
        assert bd.refused("remember ''") == "memory content cannot be empty"
        assert bd.refused(["remember", "日本 語"]).startswith("no key can be made")
        assert bd.refused("remember a b") == "accepts 1 arg(s), received 2"

    def test_long_memories_are_cut_only_where_they_are_shown(self, bd):
        """The list shows a line; `recall` gives all of it."""
        text = "word " * 60 + "\nsecond line"
        assert bd.ok(["remember", text, "--key", "k"]).endswith("...\n")
        assert "second line" not in bd.ok("memories")
        assert bd.ok("recall k") == f"{text}\n"


class TestAbout:
    def test_where_the_queue_is(self, bd):
        """`where` names the queue, for people and programs."""
        address = bd.queue.db.address
        assert bd.ok("where") == f"{address}\nprefix: fleet\n"
        assert bd.json("where")["prefix"] == "fleet"
        assert bd.json("version")["version"] == "1.3.0"

    def test_there_is_nothing_to_make_or_push(self, bd):
        """init, dolt, sync, info and ping succeed with one line, whatever flags they get."""
        for line in (
            "init --stealth --non-interactive -q -p fleet", "dolt push", "dolt pull --remote x",
            "dolt commit -m x", "sync", "info", "ping",
        ):  # fmt: skip
            assert bd.ok(line).count("\n") == 1
        assert bd.json("dolt push")["status"] == "no-remote"
        assert bd.json("sync")["status"] == "no-remote"
        assert bd.json("ping")["status"] == "ok"

    @pytest.mark.parametrize("line", ["setup claude --check", "hooks install", "doctor --fix"])
    def test_what_needs_beads_is_refused(self, bd, line):
        """Commands that would set bd up say that they need it, and fail."""
        said = bd(line)
        assert said.code == 1
        assert "beads" in said.out
        assert bd(f"{line} --json").json["status"] == "needs-beads"

    @pytest.mark.parametrize(
        "line",
        [
            "dep add a b", "dep list a", "dep tree a", "dep cycles", "comments a",
            "comment a x", "note a x", "label add a x", "label list a",
            "assign a x", "priority a 1", "defer a", "human list", "where",
            "remember 'x y'", "memories", "delete a", "epic status", "ping",
            "info", "dolt push", "sync", "version", "children a", "recall none",
            "dep add a none", "export-is-not-enveloped",
        ],
    )  # fmt: skip
    def test_the_envelope(self, bd, line):
        """With BD_JSON_ENVELOPE=1 every JSON answer stands under `data`."""
        if line.startswith("export"):
            bd.tasks("a")
            assert bd("export --json", BD_JSON_ENVELOPE="1").out.startswith('{"_type":"issue"')
            return
        bd.tasks("a", "b")
        said = bd(f"{line} --json", BD_JSON_ENVELOPE="1")
        assert list(said.json) == ["data", "schema_version"]
        assert said.json["schema_version"] == 1

    def test_read_only_mode_forbids_every_change(self, bd):
        """--readonly refuses what writes, and lets reading through."""
        bd.tasks("a", "b")
        before = bd("export --all").out
        writing = (
            "dep add a b", "comment a x", "label add a x", "defer a", "delete a --force",
            "remember 'x y'", "unclaim a", "import -", "assign a x",
        )  # fmt: skip
        for line in writing:
            said = bd(f"--readonly {line}")
            assert said.code == 1
            assert "is not allowed in read-only mode" in said.err
        assert bd("export --all").out == before
        assert bd("--readonly dep list a").code == 0
