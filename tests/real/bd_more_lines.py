"""What both are asked of edges, families, comments, claims and the rest."""

from tests.real.bd_parity import Script


def _task(name, **fields):
    at = fields.pop("at", "2026-01-01T00:00:00Z")
    return {
        "id": f"fleet-{name}",
        "title": f"Task {name}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "created_at": at,
        "updated_at": at,
        "created_by": "alice",
        **fields,
    }


def _child(name, parent, **fields):
    edge = {
        "issue_id": f"fleet-{name}",
        "depends_on_id": f"fleet-{parent}",
        "type": "parent-child",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": "alice",
    }
    return _task(name, dependencies=[edge], **fields)


PLAIN = [_task(name, at=f"2026-01-0{n}T00:00:00Z") for n, name in enumerate("abcdef", start=1)]
FAMILY = [
    _task("e", issue_type="epic", at="2026-01-01T00:00:00Z"),
    _child("e.1", "e", at="2026-01-02T00:00:00Z"),
    _child("k", "e", at="2026-01-03T00:00:00Z", status="closed", closed_at="2026-01-04T00:00:00Z"),
    _task("x", at="2026-01-05T00:00:00Z"),
]
CLOSED = {"status": "closed", "closed_at": "2026-01-02T00:00:00Z"}

SCRIPTS = {
    "edges": Script(
        seed=PLAIN,
        lines=[
            "dep add fleet-a fleet-b",
            "~ dep add fleet-a fleet-b --json",
            "dep add fleet-a fleet-a",
            "~ dep add b a --json",
            "dep add fleet-b fleet-c",
            "~ dep add fleet-a nope",
            "~ dep add fleet-a",
            "dep add fleet-c --blocked-by fleet-d",
            "~ dep add fleet-a fleet-d -t weird",
            "~ dep add fleet-a fleet-d -t waits-for",
            "~ dep list fleet-a --json",
            "~ dep list fleet-a --json",
            "~ dep list fleet-d --direction up --json",
            "~ dep list fleet-f --json",
            "~ dep list fleet-a fleet-b --json",
            "~ dep list fleet-a nope --json",
            "dep tree fleet-b --json",
            "~ dep tree fleet-a -d 0 --json",
            "dep remove fleet-a fleet-b",
            "~ dep cycles --json",
            "~ --readonly dep add fleet-a fleet-b",
        ],
    ),
    "plans": Script(
        seed=PLAIN,
        lines=[
            "create --graph {json} --json",
            "create --file {markdown} --json",
            "blocked --parent nope --json",
            "count --by-type --json",
            "count --by-label --json",
        ],
    ),
    "families": Script(
        seed=FAMILY,
        lines=[
            "~ dep add fleet-e.1 fleet-e",
            "~ dep add fleet-e fleet-e.1",
            "dep add fleet-k fleet-e",
            "~ dep add fleet-e fleet-k -t parent-child",
            "dep add fleet-e fleet-x",
            "epic status --json",
            "close fleet-e.1 --force --json",
            "~ children fleet-e --json",
            "children fleet-e --json",
            "~ children nope --json",
        ],
    ),
    "talk": Script(
        seed=PLAIN,
        lines=[
            "comment fleet-a hello there",
            "comment fleet-a --json -- --force <b>",
            "~ comment fleet-a",
            "~ comment nope x",
            "comment fleet-a --stdin<<<piped\\ntext",
            "~ comments add fleet-a more -a bob",
            "comments fleet-a --json",
            "~ comments fleet-b --json",
            "note fleet-a two --json",
            "label add fleet-a fleet-b x,y",
            "~ label add nope x",
            "~ label add fleet-a provides:x",
            "~ label list fleet-a --json",
            "label remove fleet-a x",
        ],
    ),
    "claims": Script(
        seed=[*PLAIN, _task("z", **CLOSED, assignee="alice")],
        lines=[
            "assign fleet-a bob",
            "assign fleet-a '' --json",
            "~ priority fleet-a 9",
            "update fleet-a --claim --json",
            "~ assign fleet-a zed --actor zed",
            "~ unclaim fleet-a --actor zed",
            "unclaim fleet-a --reason done",
            "~ unclaim fleet-a fleet-b nope",
            "defer fleet-b fleet-c --until 2099-01-01 --json",
            "~ defer nope",
            "~ defer fleet-b --until whenever",
            "undefer fleet-b",
            "~ undefer fleet-b",
        ],
    ),
    "rest": Script(
        seed=[*PLAIN, _task("h", labels=["human"]), _task("i", labels=["human"])],
        lines=[
            "dep add fleet-a fleet-b",
            "delete fleet-b",
            "~ delete fleet-a",
            "~ delete fleet-a nope --force",
            "delete fleet-a --force",
            "delete fleet-b --force --json",
            "human list --status all --json",
            "remember 'Always run the tests with -race, always on every push'",
            "remember 'b c' --key k --json",
            "~ remember nothing",
            "~ memories race --json",
            "memories --json",
            "forget k --json",
            "~ BD_JSON_ENVELOPE=1 dep list fleet-c --json",
            "~ BD_JSON_ENVELOPE=1 dep add fleet-c nope --json",
        ],
    ),
}
