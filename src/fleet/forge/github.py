"""GitHub by the program `gh`, with the login that the operator gave to `gh`.

`gh` is told the repository and runs outside of any, so that no file of a project steers it.
"""

import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from fleet.forge.forge_protocol import (
    CheckState,
    ForgeCheck,
    ForgeRefused,
    ForgeSilent,
    Opened,
    PullRequestDraft,
    PullRequestFacts,
    ReviewState,
    ReviewThread,
)
from fleet.forge.repository_address import RepositoryAddress
from fleet.processes.bounded_call import DEVNULL, CallFailed, call
from fleet.schemas import typed
from fleet.schemas.policy import LandHow

_PATIENCE = 60.0
#: What would lead `gh` elsewhere, or make it print for people.
_DROPPED = ("GH_REPO", "GH_HOST", "GH_DEBUG", "GH_FORCE_TTY", "GH_PAGER", "CLICOLOR_FORCE")
_SET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1", "LC_ALL": "C"}
#: How `gh` ends where there is no login.
_NO_LOGIN = 4
#: Words of an answer that says no for good; without them the same may go well later.
_NO = ("not mergeable", "not found", "could not resolve", "policy prohibits", "must have", "http 4")
_LATER = ("rate limit", "http 429", "timeout", "connection", "try again")
#: People who may write to the repository; others' remarks do not reach an agent.
_TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_DECIDING = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})

_QUERY = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    state isDraft mergeable reviewDecision headRefOid updatedAt
    isInMergeQueue isMergeQueueEnabled mergeCommit { oid }
    commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 100) { nodes {
      __typename
      ... on CheckRun { name status conclusion detailsUrl title summary }
      ... on StatusContext { context state description targetUrl }
    } } } } } }
    reviewThreads(last: 100) { nodes { id isResolved path line comments(last: 20) { nodes {
      id body author { login } authorAssociation
    } } } }
    reviews(last: 50) { nodes { id state body author { login } authorAssociation } }
  } }
}
"""


class _Login(Struct, frozen=True):
    login: str = "ghost"


class _Comment(Struct, frozen=True, rename="camel"):
    id: str
    body: str = ""
    author: _Login | None = None
    author_association: str = "NONE"
    #: Of a review alone.
    state: str = ""


class _Nodes(Struct, frozen=True):
    nodes: list[_Comment] = field(default_factory=list[_Comment])


class _Thread(Struct, frozen=True, rename="camel"):
    id: str
    is_resolved: bool = False
    path: str = ""
    line: int | None = None
    comments: _Nodes = _Nodes()


class _Threads(Struct, frozen=True):
    nodes: list[_Thread] = field(default_factory=list[_Thread])


class _Context(Struct, frozen=True, rename="camel"):
    """A check run, or the older kind, a status: each has other fields."""

    name: str = ""
    status: str = ""
    conclusion: str | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    context: str = ""
    state: str = ""
    description: str | None = None
    target_url: str | None = None


class _PullRequest(Struct, frozen=True, rename="camel"):
    state: str
    head_ref_oid: str
    is_draft: bool = False
    mergeable: str = "UNKNOWN"
    review_decision: str | None = None
    updated_at: str = ""
    is_in_merge_queue: bool = False
    is_merge_queue_enabled: bool = False
    merge_commit: dict[str, str] | None = None
    commits: dict[str, Any] = field(default_factory=dict[str, Any])
    review_threads: _Threads = _Threads()
    reviews: _Nodes = _Nodes()


class _Listed(Struct, frozen=True):
    number: int
    url: str


class GitHub:
    """One repository on GitHub."""

    def __init__(self, address: RepositoryAddress, env: Mapping[str, str] = os.environ) -> None:
        self._address = address
        self._repo = f"{address.host}/{address.owner}/{address.name}"
        self._env = {name: value for name, value in env.items() if name not in _DROPPED} | _SET

    def open(self, draft: PullRequestDraft) -> Opened | ForgeRefused | ForgeSilent:
        """Open a pull request, or find the one that is open for the same branch."""
        found = self._find(draft)
        if found is not None:
            return found
        made = self._gh(
            *("pr", "create", "--repo", self._repo, "--head", draft.branch, "--base", draft.base),
            *("--title", draft.title, "--body-file", "-"),
            feed=draft.body.encode(),
        )
        if not isinstance(made, bytes):
            return made
        return self._find(draft) or ForgeSilent(why="gh made a pull request that it does not list")

    def facts(
        self, number: int, now: datetime, before: PullRequestFacts | None
    ) -> PullRequestFacts | ForgeRefused | ForgeSilent:
        """What GitHub says of a pull request, in one question."""
        del before
        where = self._address
        answer = self._gh(
            *("api", "graphql", "--hostname", where.host, "-f", f"query={_QUERY}"),
            *("-f", f"owner={where.owner}", "-f", f"name={where.name}", "-F", f"number={number}"),
        )
        if not isinstance(answer, bytes):
            return answer
        try:
            data = msgspec.json.decode(answer)["data"]["repository"]["pullRequest"]
            return facts_of(typed.convert(data, _PullRequest), now)
        except (msgspec.DecodeError, LookupError, TypeError) as error:
            return ForgeSilent(why=f"gh answered what fleet does not understand: {error}"[:300])

    def merge(
        self, number: int, *, head: str, how: LandHow, queue: bool
    ) -> ForgeRefused | ForgeSilent | None:
        """Merge a pull request if the head is this commit; a queue has its own way."""
        ask = ("pr", "merge", str(number), "--repo", self._repo, "--match-head-commit", head)
        answer = self._gh(*ask, *(() if queue else (f"--{how}",)))
        return None if isinstance(answer, bytes) else answer

    def _find(self, draft: PullRequestDraft) -> Opened | ForgeRefused | ForgeSilent | None:
        answer = self._gh(
            *("pr", "list", "--repo", self._repo, "--head", draft.branch, "--base", draft.base),
            *("--state", "open", "--json", "number,url"),
        )
        if not isinstance(answer, bytes):
            return answer
        try:
            listed = typed.decode(answer, list[_Listed])
        except msgspec.DecodeError as error:
            return ForgeSilent(why=f"gh answered what fleet does not understand: {error}")
        return Opened(number=listed[0].number, page=listed[0].url) if listed else None

    def _gh(self, *args: str, feed: bytes = b"") -> bytes | ForgeRefused | ForgeSilent:
        program = shutil.which("gh", path=self._env.get("PATH"))
        if program is None:
            return ForgeSilent(why="gh is not installed: fleet needs it for GitHub")
        done = call(
            [program, *args], cwd="/", env=self._env, timeout=_PATIENCE, stdin=feed or DEVNULL
        )
        if isinstance(done, CallFailed):
            return ForgeSilent(why=f"gh {done.problem}")
        if not done.code:
            return done.out
        said = " ".join(done.err.split())[:500] or f"gh ended with {done.code}"
        if done.code == _NO_LOGIN:
            return ForgeSilent(why=f"gh has no login for {self._address.host}: gh auth login")
        low = said.lower()
        if any(word in low for word in _LATER) or not any(word in low for word in _NO):
            return ForgeSilent(why=said)
        return ForgeRefused(why=said)


def facts_of(pr: _PullRequest, now: datetime) -> PullRequestFacts:
    """The facts in GitHub's answer. Pure."""
    threads = [_thread(each) for each in pr.review_threads.nodes if not each.is_resolved]
    # A reviewer's later approval takes an earlier request for changes back.
    latest = {each.author: each for each in pr.reviews.nodes if each.state in _DECIDING}
    remarks = [each for each in latest.values() if each.state == "CHANGES_REQUESTED" and each.body]
    return PullRequestFacts(
        state={"OPEN": "open", "MERGED": "merged"}.get(pr.state, "closed"),  # pyright: ignore[reportArgumentType]
        head=pr.head_ref_oid,
        merge_commit=(pr.merge_commit or {}).get("oid", ""),
        mergeable={"MERGEABLE": True, "CONFLICTING": False}.get(pr.mergeable),
        draft=pr.is_draft,
        checks=tuple(_check(each) for each in _contexts(pr)),
        threads=(*filter(None, threads), *filter(None, map(_remark, remarks))),
        review=_review(pr.review_decision),
        has_queue=pr.is_merge_queue_enabled,
        queued=pr.is_in_merge_queue,
        updated=pr.updated_at,
        at=now,
    )


def _contexts(pr: _PullRequest) -> list[_Context]:
    """The checks of the head; none of an older commit."""
    for node in pr.commits.get("nodes", []):
        commit = node["commit"]
        if commit["oid"] == pr.head_ref_oid and commit.get("statusCheckRollup"):
            return typed.convert(commit["statusCheckRollup"]["contexts"]["nodes"], list[_Context])
    return []


def _check(context: _Context) -> ForgeCheck:
    if context.context:
        states: dict[str, CheckState] = {"SUCCESS": "passed", "PENDING": "running"}
        state = states.get(context.state, "running" if context.state == "EXPECTED" else "failed")
        text, url = context.description or "", context.target_url or ""
        return ForgeCheck(name=context.context, state=state, text=text, url=url)
    passed = context.conclusion in ("SUCCESS", "NEUTRAL", "SKIPPED")
    ended: CheckState = "passed" if passed else "failed"
    return ForgeCheck(
        name=context.name,
        state=ended if context.status == "COMPLETED" else "running",
        text=" ".join(filter(None, (context.title, context.summary)))[:4000],
        url=context.details_url or "",
    )


def _thread(thread: _Thread) -> ReviewThread | None:
    """A thread with the remarks of people who may write; None: there are none."""
    spoken = [each for each in thread.comments.nodes if each.author_association in _TRUSTED]
    if not spoken:
        return None
    text = "\n".join(each.body for each in spoken)
    author = (spoken[-1].author or _Login()).login
    last = f"{thread.id}@{spoken[-1].id}"
    return ReviewThread(id=last, author=author, text=text, path=thread.path, line=thread.line or 0)


def _remark(review: _Comment) -> ReviewThread | None:
    if review.author_association not in _TRUSTED:
        return None
    author = (review.author or _Login()).login
    return ReviewThread(id=review.id, author=author, text=review.body)


def _review(decision: str | None) -> ReviewState:
    words: dict[str, ReviewState] = {
        "APPROVED": "approved",
        "CHANGES_REQUESTED": "changes_requested",
        "REVIEW_REQUIRED": "required",
    }
    return words.get(decision or "", "none")
