"""Gitea and Forgejo by their HTTP interface, with a token or the operator's git login."""

from datetime import datetime
from typing import TypeVar

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
    PullRequestState,
    ReviewState,
    ReviewThread,
)
from fleet.forge.repository_address import RepositoryAddress
from fleet.forge.rest import RestAnswer, RestClient
from fleet.schemas import typed
from fleet.schemas.policy import LandHow

T = TypeVar("T")

#: Refusals that pass by themselves: the forge still works out whether it can be merged.
_LATER = ("try again later", "not in a mergeable state", "is being checked")
#: What a person may do who may write to the repository; others' remarks do not reach an agent.
_WRITERS = frozenset({"write", "admin", "owner"})
_DECIDING = frozenset({"APPROVED", "REQUEST_CHANGES"})
_PAGE = "limit=50"


class _Side(Struct, frozen=True):
    sha: str = ""


class _User(Struct, frozen=True):
    login: str = "ghost"


class _Pull(Struct, frozen=True):
    number: int
    state: str
    html_url: str = ""
    merged: bool = False
    mergeable: bool = False
    draft: bool = False
    head: _Side = field(default_factory=_Side)
    merge_commit_sha: str | None = None
    updated_at: str = ""


class _Status(Struct, frozen=True):
    context: str = ""
    status: str = ""
    description: str = ""
    target_url: str = ""


class _Combined(Struct, frozen=True):
    statuses: list[_Status] | None = None


class _Review(Struct, frozen=True):
    id: int
    state: str = ""
    body: str = ""
    user: _User | None = None
    dismissed: bool = False
    comments_count: int = 0


class _Remark(Struct, frozen=True):
    id: int
    body: str = ""
    path: str = ""
    #: The line in the new file; 0: the remark is about a line that was removed.
    position: int = 0
    original_position: int = 0
    user: _User | None = None
    #: The person who resolved the remark.
    resolver: _User | None = None


class _Permission(Struct, frozen=True):
    permission: str = ""


class Gitea:
    """One repository on Gitea or Forgejo."""

    def __init__(self, address: RepositoryAddress, authorization: str) -> None:
        self._api = RestClient(address.site, "/api/v1", authorization)
        self._repo = ("repos", address.owner, address.name)

    def open(self, draft: PullRequestDraft) -> Opened | ForgeRefused | ForgeSilent:
        """Open a pull request, or find the one that is open for the same branch."""
        found = self._api.get(*self._repo, "pulls", draft.base, draft.branch)
        if isinstance(found, RestAnswer) and found.ok:
            pull = _convert(found, _Pull)
            if not isinstance(pull, _Pull) or pull.state == "open":
                return _opened(pull)
        elif isinstance(found, ForgeSilent) or found.status != 404:
            return _no(found)
        body = {"head": draft.branch, "base": draft.base, "title": draft.title, "body": draft.body}
        made = self._api.post(*self._repo, "pulls", body=body)
        if isinstance(made, RestAnswer) and made.ok:
            return _opened(_convert(made, _Pull))
        return _no(made)

    def facts(
        self, number: int, now: datetime, before: PullRequestFacts | None
    ) -> PullRequestFacts | ForgeRefused | ForgeSilent:
        """What the forge says of a pull request; reviews are asked for after a change alone."""
        pull = self._one(_Pull, "pulls", str(number))
        if not isinstance(pull, _Pull):
            return pull
        status = self._one(_Combined, "commits", pull.head.sha, "status")
        if not isinstance(status, _Combined):
            return status
        known = before if before is not None and before.updated == pull.updated_at else None
        remarks = _kept(known) if known else self._remarks(number)
        if not isinstance(remarks, _Remarks):
            return remarks
        return PullRequestFacts(
            state=_state(pull),
            head=pull.head.sha,
            merge_commit=(pull.merge_commit_sha or "") if pull.merged else "",
            mergeable=pull.mergeable,
            draft=pull.draft,
            checks=tuple(map(_check, status.statuses or [])),
            threads=remarks.threads,
            review=remarks.review,
            updated=pull.updated_at,
            at=now,
        )

    def merge(
        self, number: int, *, head: str, how: LandHow, queue: bool
    ) -> ForgeRefused | ForgeSilent | None:
        """Merge a pull request if the head is this commit. Gitea has no merge queue."""
        del queue
        body = {"Do": how, "head_commit_id": head}
        answer = self._api.post(*self._repo, "pulls", str(number), "merge", body=body)
        if isinstance(answer, RestAnswer) and answer.ok:
            return None
        return _no(answer)

    def _one(self, kind: type[T], *words: str) -> T | ForgeRefused | ForgeSilent:
        answer = self._api.get(*self._repo, *words, query=_PAGE)
        return (
            _convert(answer, kind) if isinstance(answer, RestAnswer) and answer.ok else _no(answer)
        )

    def _remarks(self, number: int) -> "_Remarks | ForgeRefused | ForgeSilent":
        reviews = self._one(list[_Review], "pulls", str(number), "reviews")
        if not isinstance(reviews, list):
            return reviews
        said: list[tuple[_User, ReviewThread]] = []
        for review in reviews:
            if not review.comments_count:
                continue
            found = self._one(
                list[_Remark], "pulls", str(number), "reviews", str(review.id), "comments"
            )
            if not isinstance(found, list):
                return found
            said += [(each.user or _User(), _thread(each)) for each in found if not each.resolver]
        latest = {each.user or _User(): each for each in reviews if each.state in _DECIDING}
        for user, review in latest.items():
            if review.state == "REQUEST_CHANGES" and review.body and not review.dismissed:
                text = ReviewThread(id=f"review-{review.id}", author=user.login, text=review.body)
                said.append((user, text))
        writers = {user for user in {user for user, _ in said} if self._may_write(user)}
        return _Remarks(
            threads=tuple(thread for user, thread in said if user in writers),
            review=_review([each for each in latest.values() if not each.dismissed]),
        )

    def _may_write(self, user: _User) -> bool:
        found = self._one(_Permission, "collaborators", user.login, "permission")
        return isinstance(found, _Permission) and found.permission in _WRITERS


class _Remarks(Struct, frozen=True, kw_only=True):
    threads: tuple[ReviewThread, ...]
    review: ReviewState


def _kept(before: PullRequestFacts) -> _Remarks:
    return _Remarks(threads=before.threads, review=before.review)


def _opened(pull: "_Pull | ForgeRefused | ForgeSilent") -> Opened | ForgeRefused | ForgeSilent:
    return Opened(number=pull.number, page=pull.html_url) if isinstance(pull, _Pull) else pull


def _no(answer: RestAnswer | ForgeSilent) -> ForgeRefused | ForgeSilent:
    """An answer that is not the wanted one."""
    if isinstance(answer, ForgeSilent):
        return answer
    if answer.status in (401, 403):
        return ForgeSilent(why=f"the forge does not accept fleet's login: {answer.why}")
    if any(word in answer.why.lower() for word in _LATER):
        return ForgeSilent(why=answer.why)
    return ForgeRefused(why=answer.why)


def _state(pull: _Pull) -> PullRequestState:
    return "merged" if pull.merged else "open" if pull.state == "open" else "closed"


def _check(status: _Status) -> ForgeCheck:
    states: dict[str, CheckState] = {
        "success": "passed",
        "warning": "passed",
        "skipped": "passed",
        "pending": "running",
    }
    return ForgeCheck(
        name=status.context,
        state=states.get(status.status, "failed"),
        text=status.description,
        url=status.target_url,
    )


def _review(latest: list[_Review]) -> ReviewState:
    states = {each.state for each in latest}
    if "REQUEST_CHANGES" in states:
        return "changes_requested"
    return "approved" if "APPROVED" in states else "none"


def _thread(remark: _Remark) -> ReviewThread:
    author, line = (remark.user or _User()).login, remark.position or remark.original_position
    return ReviewThread(
        id=str(remark.id), author=author, text=remark.body, path=remark.path, line=line
    )


def _convert(answer: RestAnswer, kind: type[T]) -> T | ForgeSilent:
    try:
        return typed.convert(answer.body, kind)
    except msgspec.ValidationError as error:
        return ForgeSilent(why=f"the forge answers what fleet does not understand: {error}"[:300])
