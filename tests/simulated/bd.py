"""A `bd` for tests: the commands that fleet calls, on one JSON file, with faults on order.

Run as a program with `python -I -S`, or called as a function. `script.json` beside the data says
which version to play and which faults to commit; `calls.jsonl` lists every call. The real bd passes
the same contract.
"""

# ruff: noqa: PTH118, PTH123
# Tests call this thousands of times: json, signal or pathlib would each double what a call takes.
import os
import sys
import time
from _datetime import datetime, timezone
from _json import encode_basestring_ascii, make_encoder, make_scanner

DATA, SCRIPT, CALLS = "data.json", "script.json", "calls.jsonl"
JOURNAL = "embeddeddolt/fleet/.dolt/noms/journal"
BLOCKING = ("blocks", "conditional-blocks")
NOT_WORK = ("gate", "molecule", "message", "agent", "role", "rig", "merge-request")
TYPES = ("task", "bug", "feature", "epic", "chore", *NOT_WORK)


SIGSEGV = 11
#: Faults that only a process can commit.
OF_PROCESSES = ("hang", "hang after", "segv", "flood")
#: Faults that bd tells, with its words.
FAILURES = {
    "locked": "failed to open database: database is locked",
    "fail": "something odd happened",
}
UTC = timezone.utc


class Plain:
    """What json's own decoder asks for, without anything special."""

    strict, memo = True, {}
    object_hook = object_pairs_hook = None
    parse_int, parse_float, parse_constant = int, float, float


scan = make_scanner(Plain)
encode = make_encoder(None, None, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(text):
    try:
        return scan(text.strip(), 0)[0]
    except StopIteration:
        raise Failure(f"not JSON: {text}") from None


def dumps(value):
    return "".join(encode(value, 0))


class Failure(Exception):
    """Ends the call with exit code 1 and a message."""


def now() -> str:
    return datetime.now(UTC).isoformat()


class Bd:
    def __init__(self, flags, words, env, stdin, script):
        self.flags, self.words, self.actor = flags, words, flags.get("--actor", "unknown")
        self.env, self.stdin = env, stdin
        self.old = script.get("version", "1.3.0") < "1.3"
        self.issues = {}
        self.errors = []
        self.warnings = []

    # reading

    def show(self):
        found = [self.issues[word] for word in self.words if word in self.issues]
        if not found:
            raise Failure("no issues found matching the provided IDs")
        return [self.detailed(issue) for issue in found]

    def list(self):
        found = list(self.issues.values())
        if "--id" in self.flags:
            found = [issue for issue in found if issue["id"] in self.flags["--id"].split(",")]
        if "--status" in self.flags:
            found = [i for i in found if i["status"] in self.flags["--status"].split(",")]
        elif "--all" not in self.flags:
            found = [issue for issue in found if issue["status"] != "closed"]
        return [self.printed(issue) for issue in found]

    def count(self):
        counted = {}
        for issue in self.issues.values():
            counted[issue["status"]] = counted.get(issue["status"], 0) + 1
        groups = [{"group": status, "count": count} for status, count in counted.items()]
        return {"groups": groups, "total": len(self.issues)}

    def ready(self):
        return [
            self.printed(issue)
            for issue in self.issues.values()
            if issue["status"] == "open"
            and issue["issue_type"] not in NOT_WORK
            and not self.waits(issue)
        ]

    def blocked(self):
        open_ones = [i for i in self.issues.values() if i["status"] != "closed"]
        return [self.printed(issue) for issue in open_ones if self.waits(issue)]

    def comments(self):
        return self.issues[self.words[0]].get("comments", [])

    def comment(self):
        word, text = self.words
        said = self.issues[word].setdefault("comments", [])
        fresh = {"id": f"{word}/{len(said)}", "issue_id": word, "author": self.actor, "text": text}
        said.append({**fresh, "created_at": now()})
        return said[-1]

    def waits(self, issue):
        for edge in issue.get("dependencies", ()):
            target = self.issues[edge["depends_on_id"]]
            if edge["type"] in BLOCKING and target["status"] != "closed":
                return True
            if edge["type"] == "parent-child":
                put_off = target["status"] == "deferred" and target["defer_until"] > now()
                if put_off or self.waits(target):
                    return True
        return False

    def detailed(self, issue):
        shown = self.printed(issue)
        shown.pop("dependencies", None)
        edges = issue.get("dependencies", ())
        if edges:
            shown["dependencies"] = [
                self.printed(self.issues[edge["depends_on_id"]]) | {"dependency_type": edge["type"]}
                for edge in edges
            ]
        return shown

    def printed(self, issue):
        kept = {key: value for key, value in issue.items() if value not in ("", None, [], {})}
        for key in ("created_at", "updated_at", "closed_at", "started_at"):
            if key in kept:
                kept[key] = rounded(kept[key])
        return kept | {"priority": issue["priority"]}

    # writing

    def create(self):
        flags = self.flags
        kind = flags.get("--type", "task")
        if kind not in TYPES:
            raise Failure(f"invalid issue type: {kind}")
        parent = self.flags.get("--parent")
        if parent is not None and parent not in self.issues:
            raise Failure(f'parent issue not found: no issue found matching "{parent}"')
        task_id = flags.get("--id") or self.new_id(parent)
        if task_id in self.issues and not self.old:
            raise Failure(f"{task_id} already exists; use bd update")
        put_off = flags.get("--defer", "")
        labels = [label for label in flags.get("--labels", "").split(",") if label]
        if parent and "--no-inherit-labels" not in flags:
            labels += self.issues[parent].get("labels", [])
        moment = now()
        issue = {
            "id": task_id,
            "title": flags.get("--title") or " ".join(self.words),
            "description": self.text("--description", "--body-file"),
            "design": flags.get("--design", "") or self.text("", "--design-file"),
            "acceptance_criteria": flags.get("--acceptance", ""),
            "notes": flags.get("--notes", ""),
            "spec_id": flags.get("--spec-id", ""),
            "status": "deferred" if put_off > moment else "open",
            "priority": int(flags.get("--priority", "2")),
            "issue_type": kind,
            "assignee": flags.get("--assignee", ""),
            "owner": self.env.get("GIT_AUTHOR_EMAIL", ""),
            "estimated_minutes": int(flags["--estimate"]) if "--estimate" in flags else None,
            "created_at": moment,
            "created_by": self.actor,
            "updated_at": moment,
            "due_at": flags.get("--due"),
            "defer_until": put_off or None,
            "external_ref": flags.get("--external-ref"),
            "metadata": metadata(flags),
            "labels": sorted(set(labels)),
            "dependencies": [],
        }
        if "--dry-run" in flags:
            return issue | {"id": ""}
        self.issues[task_id] = issue
        if parent:
            self.link(task_id, parent, "parent-child")
        for item in filter(None, flags.get("--deps", "").split(",")):
            kind, _, target = item.rpartition(":")
            if kind == "blocks":
                self.link(target, task_id, "blocks")
            else:
                self.link(task_id, target, kind or "blocks")
        shown = {key: value for key, value in issue.items() if key != "dependencies"}
        return {key: value for key, value in shown.items() if value not in ("", None, [], {})}

    def text(self, inline, by_file):
        flags = self.flags
        if flags.get(inline) == "-" or "--stdin" in flags:
            return self.stdin.read()
        if by_file in flags:
            with open(flags[by_file], encoding="utf-8") as file:
                return file.read()
        return flags.get(inline, "")

    def link(self, one, other, kind):
        if kind in BLOCKING and self.reaches(other, one):
            self.warnings.append(
                f"Warning: failed to add dependency {one} -> {other}:"
                " adding dependency would create a cycle"
            )
            return
        edge = {"issue_id": one, "depends_on_id": other, "type": kind}
        self.issues[one]["dependencies"].append(edge)

    def reaches(self, start, goal):
        edges = self.issues[start]["dependencies"]
        return start == goal or any(self.reaches(edge["depends_on_id"], goal) for edge in edges)

    def new_id(self, parent):
        if parent:
            return f"{parent}.{sum(key.rpartition('.')[0] == parent for key in self.issues) + 1}"
        number = len(self.issues)
        while f"fleet-{number:03d}" in self.issues:
            number += 1
        return f"fleet-{number:03d}"

    def update(self):
        if self.old and any(flag.startswith("--if-") for flag in self.flags):
            raise Failure("unknown flag: --if-status")
        done = []
        for word in self.words:
            issue = self.issues.get(word)
            reason = self.refusal(issue, word) or self.apply(issue)
            if reason:
                self.errors.append((word, reason))
            else:
                issue["updated_at"] = now()
                done.append(self.printed(issue))
        return done

    def refusal(self, issue, word):
        if issue is None:
            return f'no issue found matching "{word}"'
        for flag, key in (("--if-status", "status"), ("--if-assignee", "assignee")):
            if flag in self.flags and issue[key] != self.flags[flag]:
                return f'{key} mismatch: {word} is held by "{issue[key]}"'
        held = issue["status"] == "in_progress" and issue["assignee"] not in ("", self.actor)
        if "--assignee" in self.flags and held and not self.old:
            return f'cannot reassign {word}: held by "{issue["assignee"]}" (in_progress)'
        return None

    def apply(self, issue):
        flags = self.flags
        if "--claim" in flags:
            if issue["assignee"] not in ("", self.actor):
                return f"issue already claimed by {issue['assignee']}"
            if issue["status"] not in ("open", "in_progress"):
                return f"issue not claimable: status {issue['status']}"
            issue["assignee"], issue["status"] = self.actor, "in_progress"
        if "--status" in flags:
            issue["status"] = flags["--status"]
        if "--assignee" in flags:
            issue["assignee"] = flags["--assignee"]
        if flags.get("--append-notes"):
            issue["notes"] = "\n".join(filter(None, (issue["notes"], flags["--append-notes"])))
        if "--metadata" in flags:
            issue["metadata"] = (issue["metadata"] or {}) | metadata(flags)
        if issue["status"] == "in_progress":
            issue.setdefault("started_at", now())
        return None

    def close(self):
        done = []
        for word in self.words:
            issue = self.issues.get(word)
            if issue is None:
                raise Failure(f'no issue found matching "{word}"')
            if not self.old and issue["assignee"] not in ("", self.actor):
                self.errors.append(
                    (word, f'cannot close {word}: assignee is "{issue["assignee"]}"')
                )
                continue
            if self.waits(issue):
                self.errors.append((word, f"cannot close {word}: blocked by open issues"))
                continue
            reason = self.flags.get("--reason", "Closed")
            issue.update(status="closed", closed_at=now(), close_reason=reason)
            done.append(self.printed(issue))
        return done

    def delete(self):
        for word in self.words:
            self.issues.pop(word)
            for issue in self.issues.values():
                edges = issue["dependencies"]
                issue["dependencies"] = [e for e in edges if e["depends_on_id"] != word]
        return {"deleted": self.words[0]}


def rounded(moment):
    stamp = datetime.fromisoformat(moment).timestamp()
    return datetime.fromtimestamp(int(stamp + 0.5), UTC).isoformat()


def metadata(flags):
    given = flags.get("--metadata", "{}")
    if given.startswith("@"):
        with open(given[1:], encoding="utf-8") as file:
            given = file.read()
    return loads(given)


def parsed(argv):
    """Flags in the form `--flag=value`, words, and the verb: the only form that fleet uses."""
    flags, words = {}, []
    only_words = False
    for part in argv:
        if only_words or not part.startswith("-"):
            words.append(part)
        elif part == "--":
            only_words = True
        else:
            name, _, value = part.partition("=")
            flags[name] = value
    return flags, words[0] if words else "", words[1:]


def play(fault):
    """Commit one fault of a process, before the work or instead of it."""
    match fault:
        case "hang":
            if os.fork() == 0:  # a child that would outlive a kill of the parent alone
                time.sleep(300)
            time.sleep(300)
        case "segv":
            os.kill(os.getpid(), SIGSEGV)
        case "flood":
            block = b"x" * 1_000_000
            for _ in range(100):
                os.write(1, block)
            sys.exit(0)


def fault_for(script, verb):
    """The fault that is due on this call, counted down in the script."""
    for order in script.get("faults", []):
        if order["on"] in (verb, "*") and order.get("skip", 0) > 0:
            order["skip"] -= 1
        elif order["on"] in (verb, "*") and order["times"] > 0:
            order["times"] -= 1
            return order["do"]
    return None


def answer(argv, env, stdin, out, err):
    """One call, with these files as its streams; the exit code."""
    flags, verb, words = parsed(argv)

    def file_of(name, mode):
        return open(os.path.join(env["BEADS_DIR"], name), mode, encoding="utf-8")

    if verb == "version":
        with file_of(SCRIPT, "r") as file:
            out.write(f"bd version {loads(file.read()).get('version', '1.3.0')} (simulated)\n")
        return 0
    with file_of(SCRIPT, "r+") as file:
        os.lockf(file.fileno(), os.F_LOCK, 0)
        script = loads(file.read())
        fault = fault_for(script, verb)
        file.seek(0)
        file.truncate()
        file.write(dumps(script))
        with file_of(CALLS, "a") as calls:
            calls.write(dumps(argv) + "\n")
    play(fault)
    if fault == "half":
        out.write('{"schema_version": 1, "data": [{"id": "fleet-0')
        return 0
    if fault in FAILURES:
        err.write(f"Error: {FAILURES[fault]}\n")
        return 1
    with file_of(DATA, "r+") as file:
        os.lockf(file.fileno(), os.F_LOCK, 0)
        before = file.read()
        bd = Bd(flags, words, env, stdin, script)
        bd.issues = loads(before)
        try:
            found = getattr(bd, verb)()
        except Failure as failure:
            out.write(as_json({"error": str(failure)}, script))
            return 1
        if fault == "lie":
            for issue in bd.issues.values():
                if issue["id"] in words:
                    issue["assignee"] = "mallory"
        after = dumps(bd.issues)
        if fault != "lose" and after != before:
            file.seek(0)
            file.truncate()
            file.write(after)
            with file_of(JOURNAL, "a") as journal:
                journal.write(".")
    if fault == "hang after":
        time.sleep(300)
    for line in bd.warnings:
        err.write(line + "\n")
    for word, reason in bd.errors:
        err.write(f"Error updating {word}: {reason}\n")
    if found != [] or not bd.errors:
        out.write(as_json(found, script))
    if bd.errors and not bd.old:
        failed = [{"id": word, "error": reason} for word, reason in bd.errors]
        total = {"error": f"{len(failed)} issues failed", "failed": failed, "schema_version": 1}
        err.write(dumps(total) + "\n")
    return 1 if bd.errors and not (bd.old and found) else 0


def as_json(found, script):
    shape = script.get("shape", "data")
    if shape == "bare" and isinstance(found, dict):
        found = found | {"schema_version": 1}
    elif shape == "items" and isinstance(found, list):
        found = {"schema_version": 1, "items": found}
    elif shape == "data":
        found = {"schema_version": 1, "data": found}
    return dumps(found) + "\n"


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], os.environ, sys.stdin, sys.stdout, sys.stderr))
