"""A scripted `gh`: the commands that fleet gives, over the state that $SCRIPTED_FORGE names.

What it prints, where, and how it ends are as those of gh 2.23 to 2.80.
"""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, os.environ["SCRIPTED_FORGE_TESTS"])
from tests.forges.state import WRITERS, ForgeState

STATE = ForgeState(Path(os.environ["SCRIPTED_FORGE"]))


def option(args, name, default=""):
    return args[args.index(name) + 1] if name in args else default


def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)


def pull_page(number):
    return f"https://github.com/team/app/pull/{number}"


def pr_list(args):
    wanted = (option(args, "--head"), option(args, "--base"))
    found = [
        {"number": each["number"], "url": pull_page(each["number"])}
        for each in STATE.read()["pulls"].values()
        if (each["branch"], each["base"]) == wanted and each["state"] == "open"
    ]
    print(json.dumps(found))


def pr_create(args):
    head, base = option(args, "--head"), option(args, "--base")
    if not STATE.tip(head):
        fail(
            "pull request create failed: GraphQL: Head sha can't be blank,"
            " Head ref must be a branch (createPullRequest)"
        )
    pull = STATE.open(head, base, option(args, "--title"), sys.stdin.read())
    print(pull_page(pull["number"]))


def pr_merge(args):
    number = int(args[0])
    pull = STATE.pull(number)
    if pull["head"] != option(args, "--match-head-commit"):
        fail(
            "GraphQL: Head branch was modified. Review and try the merge again. (mergePullRequest)"
        )
    if STATE.read()["queue"]:
        with STATE.changing() as known:
            known["pulls"][str(number)]["queued"] = True
        added = f"✓ Pull request #{number} will be added to the merge queue for main when ready"
        print(added, file=sys.stderr)
        return
    if not STATE.mergeable(pull):
        why = "the merge commit cannot be cleanly created."
        fail(f"X Pull request #{number} is not mergeable: {why}")
    how = next(flag for flag in ("--merge", "--squash", "--rebase") if flag in args)
    STATE.merge(number, how.removeprefix("--"))
    print(f"✓ Merged pull request #{number} ({pull['title']})", file=sys.stderr)


def association(author):
    return "COLLABORATOR" if author in WRITERS else "NONE"


def context(each):
    ended = each["state"] != "running"
    return {
        "__typename": "CheckRun",
        "name": each["name"],
        "status": "COMPLETED" if ended else "IN_PROGRESS",
        "conclusion": {"passed": "SUCCESS", "failed": "FAILURE"}.get(each["state"]),
        "detailsUrl": "",
        "title": each["text"] or None,
        "summary": None,
    }


def graphql(args):
    given = [word for flag, word in pairwise(args) if flag in ("-f", "-F")]
    fields = dict(word.partition("=")[::2] for word in given)
    number = int(fields["number"])
    pull, known = STATE.pull(number), STATE.read()
    if pull is None:
        print(json.dumps({"data": {"repository": {"pullRequest": None}}}))
        fail(f"gh: Could not resolve to a PullRequest with the number of {number}.")
    checks = [context(each) for each in STATE.statuses(pull["head"])]
    mergeable = "UNKNOWN"
    if pull["state"] == "open":
        mergeable = "MERGEABLE" if STATE.mergeable(pull) else "CONFLICTING"
    reviews = [each for each in known["reviews"] if each["number"] == number]
    decision = {"approved": "APPROVED", "changes_requested": "CHANGES_REQUESTED"}
    answer = {
        "state": pull["state"].upper(),
        "isDraft": False,
        "mergeable": mergeable,
        "reviewDecision": decision[reviews[-1]["state"]] if reviews else None,
        "headRefOid": pull["head"],
        "updatedAt": "2026-01-01T00:00:00Z",
        "isInMergeQueue": pull["queued"],
        "isMergeQueueEnabled": known["queue"],
        "mergeCommit": {"oid": pull["merge_commit"]} if pull["merge_commit"] else None,
        "commits": {
            "nodes": [
                {
                    "commit": {
                        "oid": pull["head"],
                        "statusCheckRollup": {"contexts": {"nodes": checks}} if checks else None,
                    }
                }
            ]
        },
        "reviewThreads": {
            "nodes": [
                {
                    "id": f"T{each['id']}",
                    "isResolved": not each["open"],
                    "path": each["path"],
                    "line": each["line"],
                    "comments": {
                        "nodes": [
                            {
                                "id": f"C{each['id']}",
                                "body": each["text"],
                                "author": {"login": each["author"]},
                                "authorAssociation": association(each["author"]),
                            }
                        ]
                    },
                }
                for each in known["remarks"]
                if each["number"] == number
            ]
        },
        "reviews": {
            "nodes": [
                {
                    "id": f"R{each['id']}",
                    "state": each["state"].upper(),
                    "body": each["text"],
                    "author": {"login": each["author"]},
                    "authorAssociation": association(each["author"]),
                }
                for each in reviews
            ]
        },
    }
    print(json.dumps({"data": {"repository": {"pullRequest": answer}}}))


def main():
    args = sys.argv[1:]
    with STATE.changing() as known:
        known["asked"].append(" ".join(args[:2]))
        fault = known.pop("fault", None)
    if os.environ.get("SCRIPTED_GH_LOGIN") == "none":
        fail("To get started with GitHub CLI, please run:  gh auth login", 4)
    if fault:
        fail(fault)
    for words, command in {
        ("pr", "list"): pr_list,
        ("pr", "create"): pr_create,
        ("pr", "merge"): pr_merge,
        ("api", "graphql"): graphql,
    }.items():
        if tuple(args[:2]) == words:
            return command(args[2:])
    return fail(f'unknown command "{" ".join(args)}" for "gh"')


main()
