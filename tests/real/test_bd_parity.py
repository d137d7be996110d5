"""Fleet answers the bd commands as the bd 1.3.0 on this machine does; where it does not, a line of
`ACCEPTED` says why.
"""

import pytest

from tests.real.bd_parity import Script, asked, differences

#: Most of the time goes to bd, which takes about a third of a second of processor for each line.
pytestmark = pytest.mark.timeout(600)


def _task(name, title, **fields):
    moment = fields.pop("created_at", "2026-01-01T00:00:00Z")
    return {
        "id": f"fleet-{name}",
        "title": title,
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "created_at": moment,
        "updated_at": moment,
        "created_by": "alice",
        **fields,
    }


def _edge(name, target, kind):
    return {
        "issue_id": f"fleet-{name}",
        "depends_on_id": f"fleet-{target}",
        "type": kind,
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": "alice",
    }


#: A queue with something of everything, moments apart so that every order is certain.
SEED = (
    _task("aa1", "Alpha", created_at="2026-01-03T00:00:00Z", description="Has Login words"),
    _task("ab2", "beta LOGIN", created_at="2026-01-02T00:00:00Z", issue_type="bug", assignee="Zed"),
    _task("ac3", "Beta", created_at="2026-01-04T00:00:00Z", issue_type="bug", assignee="bob"),
    _task("ad4", "Gamma_x 100%", created_at="2026-01-01T00:00:00Z", priority=1, notes="nn login"),
    _task("ae5", "stuck", created_at="2026-01-05T00:00:00Z", status="blocked", assignee="bob"),
    _task("af6", "hooked", created_at="2026-01-06T00:00:00Z", status="hooked"),
    _task("ag7", "pinned", created_at="2026-01-07T00:00:00Z", status="pinned"),
    _task(
        "ah8",
        "going",
        created_at="2026-01-08T00:00:00Z",
        status="in_progress",
        assignee="alice",
        started_at="2026-01-09T00:00:00Z",
    ),
    _task(
        "ai9",
        "over",
        created_at="2026-01-01T00:00:00Z",
        status="closed",
        closed_at="2026-01-06T00:00:00Z",
        close_reason="why",
    ),
    _task("ba1", "gate", issue_type="gate", created_at="2026-01-10T00:00:00Z"),
    _task("bb2", "an epic", issue_type="epic", priority=3, created_at="2026-01-11T00:00:00Z"),
    _task(
        "bc3",
        "kid one",
        priority=3,
        created_at="2026-01-12T00:00:00Z",
        dependencies=[_edge("bc3", "bb2", "parent-child")],
        labels=["tech-debt", "be"],
    ),
    _task(
        "bd4",
        "kid two",
        priority=1,
        created_at="2026-01-13T00:00:00Z",
        dependencies=[
            _edge("bd4", "aa1", "discovered-from"),
            _edge("bd4", "bb2", "parent-child"),
            _edge("bd4", "bc3", "blocks"),
        ],
        labels=["be"],
        metadata={"k": 1, "s": "v", "b": True, "n": {"d": "e"}},
    ),
)

SCRIPTS = {
    "create": [
        "a=create First --silent -d 'a desc' -l x,y",
        "= create Text --id fleet-t1",
        "create Third --id fleet-t2 --json --deps {a} -p 0 --metadata '{\"k\": 1}'",
        "create --title Much --id fleet-t3 -p P3 -t feat -a bob -e 60 --due +1d --json",
        "~ create More --id fleet-t31 --design D --acceptance A --notes N --skills go --json",
        "~ = create",
        "~ = create ''",
        "~ = create a b",
        "~ = create x -p 99 --json",
        "~ = create x -t zzz",
        "~ create x -t zzz --json",
        "~ = create x --deps nope",
        "~ create x --deps zzz:{a} --json",
        "= create x --deps {a},related:{a}",
        "~ create x --id fleet-t4 --deps blocks:{a} --json",
        "show {a} --json",
        "~ = create x --title y",
        "~ create x --id fleet-t1 --json",
        "~ = create x --id other-1",
        "~ = create x --id 'bad id'",
        "create x --parent {a} --json",
        "~ = create x --parent nope --json",
        "~ = create x --dry-run",
        "create x --id fleet-t5 --body-file - --json<<<from stdin\\nline two\\n",
        "~ = create x --stdin<<<",
        "create x --id fleet-t6 --defer +1d --json",
        "~ = create x --due garbage",
        "~ = create x --metadata '{bad'",
        "~ create x --id fleet-t7 -s closed --json",
        "create x --id fleet-t8 --json --waits-for {a} --waits-for-gate any-children",
        "~ = create -- -dash",
        "~ = q",
        "b=q Quick one two -p 1 -t bug -l q1",
        "~ show {b} --json",
        "~ create x --metadata '[1]' --id fleet-t9",
        "~ create x --append-notes more --id fleet-t10 --json",
        "~ create x --waits-for nope --id fleet-t11",
        "BD_JSON_ENVELOPE=1 create x --json --deps nope",
        "~ = --readonly create x --json",
    ],
    "lists": [
        "list --json",
        "= list --flat --all",
        "~ = list",
        "~ list --json --brief --all",
        "= list --flat --sort title",
        "~ = list --flat --sort type -r",
        "~ = list --flat --sort closed --all",
        "~ = list --flat -r -s open,closed",
        "= list --flat -l be --exclude-label tech-debt",
        "~ = list --flat --label-pattern tech-* --all",
        "~ = list --flat --title LOGIN",
        "~ = list --flat --title _x",
        "= list --flat --parent fleet-bb2 --metadata-field k=1",
        "= list --flat --ready",
        "~ = list --flat --no-parent --include-gates -p 2",
        "~ = list --flat --limit 2 --sort bogus",
        "= list -s bogus --json",
        "~ = list -t bogus",
        "~ = list --created-after garbage",
        "~ = list --max-rows 1 --json",
        "~ BD_JSON_ENVELOPE=1 list --skip-labels --json --limit 1",
        "~ = list --parent fleet-bb2",
        "~ = list extra",
        "= ready",
        "~ BD_JSON_ENVELOPE=1 ready --json --limit 2",
        "~ = ready --plain -s oldest -u",
        "~ ready --explain --json",
        "~ = ready --explain",
        "= blocked",
        "blocked --json",
        "~ = search beta --sort title",
        "~ search kid --json --label be",
        "~ = count --by-label",
        "~ count --json",
        "stats --json",
        "show fleet-bb2 fleet-bd4 nope --json --include-dependents --include-comments",
        "~ = show fleet-ab2 fleet-ae5 fleet-ag7 fleet-ai9 --short",
        "= show fleet-bb2",
        "~ = show a --short",
        "~ = show fleet-bc3 --refs",
    ],
    "update": [
        "a=create First --silent -l x,y",
        "b=create Second --silent -a bob",
        "c=create Third --silent --deps {a}",
        "= update {a} --claim",
        "update {a} --claim --json",
        "= update {a} --claim --actor bob",
        "~ update {a} --claim --actor bob --json",
        "~ = update {b} --claim",
        "~ = update {a} nope --title New",
        "~ update {a} nope --notes one --json",
        "= update {a} --notes two",
        "update {a} --append-notes three --json",
        "= update {a} -a carol --actor bob",
        "update {a} -s open -a '' --actor bob --force --json",
        "~ update {a} -p 1 --if-assignee bob --json",
        "~ = update {a} nope -p 1 --if-status blocked",
        "update {a} --add-label p,q --remove-label x --json",
        'update {a} --metadata \'{"a": 1, "b": {"c": 2}}\' --json',
        "update {a} --set-metadata b=5 --set-metadata t=true --unset-metadata a --json",
        "~ = update {a} -s bogus --json",
        "~ update {a} -t bogus --json",
        "~ = update {c} -s closed",
        "update {a} --parent {b} --json",
        "~ = update {b} --parent {a}",
        "update {a} --parent '' --defer +2h --due tomorrow --json",
        "update {a} --defer '' -s blocked --notes 'QUESTION: x' --json",
        "= update {a} --claim",
        "~ = update {a}",
        "~ update --json",
    ],
    "close": [
        "a=create First --silent",
        "b=create Second --silent -p 1 -a bob",
        "c=create Third --silent --deps {a} -p 0",
        "d=create Epic -t epic --silent",
        "e=create Child --parent {d} --silent",
        "= close {c}",
        "~ = close {d} --json",
        "= close {b}",
        "close {b} --force --json",
        "= close {b}",
        "~ = close nope",
        "~ close {a} nope --json",
        "= close {a} --reason 'done it' --suggest-next",
        "= close {e} -r one -r two",
        "close {e} {c} -r one -r two --json",
        "= done {d} 'all children done'",
        "= reopen {d}",
        "= reopen {d}",
        "~ reopen {e} nope --json",
        "~ = close {d} {e} --actor zed",
        "f=create Next --silent",
        "g=create After --silent --deps {f}",
        "close {f} --suggest-next --json",
        "ready --claim --json",
        "h=create Last --silent -p 4",
        "= close {d} --claim-next",
        "= ready --claim",
        "= close {g} --reason-file -<<<from a file\\n",
        "reopen {g} -r why --json",
        "show {g} --json",
        "= close {g} --continue",
        "~ = close",
    ],
}

#: Lines that fleet answers in another way on purpose.
ACCEPTED = {
    "create x --metadata '[1]' --id fleet-t9": "metadata is where fleet keeps a task's directory,"
    " so it has to be an object",
    "create x --append-notes more --id fleet-t10 --json": "bd drops what was given",
    "create x --waits-for nope --id fleet-t11": "bd makes a task that waits for nothing",
    "show {g} --json": "the reason for reopening is kept as a comment; bd has a journal for it",
    "= close {g} --continue": "there are no molecules to go on in, and it is better to say so",
    "stats --json": "bd does not compute the lead time and does not count the status pinned",
    "= create x --deps {a},related:{a}": "bd's text ends with the number of one of its issues",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_fleet_answers_as_bd_does(name, bd, bd_home, tmp_path):
    """Exit codes, channels, JSON and the texts that people and scripts know are those of bd."""
    script = Script(SCRIPTS[name], SEED if name == "lists" else ())
    found = differences(bd_home, bd, tmp_path, script)
    accepted = {line for line in asked(script) if line in ACCEPTED}
    surprises = {line: how for line, how in found.items() if line not in accepted}
    assert not surprises, "\n\n".join(f"{line}\n{how}" for line, how in surprises.items())
    assert accepted == set(found), "a difference that is gone should leave the table"
