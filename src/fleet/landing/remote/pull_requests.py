"""The pull requests of one branch: each is opened, looked after, and landed once merged.

What the forge says is stored first; what follows from it is pure (`forge/reactions.py`) and is
carried out here. Whatever was done before a kill is found done: a branch by what the remote says, a
pull request by its branch, a merge by the facts.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import structs

from fleet import config
from fleet.errors import FleetError
from fleet.forge import pull_request_json
from fleet.forge.connect import connect
from fleet.forge.forge_protocol import (
    Forge,
    ForgeRefused,
    ForgeSilent,
    Opened,
    PullRequestDraft,
    PullRequestFacts,
)
from fleet.forge.pull_request_body import pull_request_body
from fleet.forge.pull_request_json import PullRequest
from fleet.forge.reactions import (
    SOONEST,
    AskPerson,
    BackKind,
    KeepWatching,
    MergedThere,
    MergeNow,
    Reaction,
    SendBack,
    after_silence,
    next_look,
    noted,
    reactions,
    says_the_same,
)
from fleet.git.git_command import Git
from fleet.git.land.land_repository import LandRepository
from fleet.git.remote.push import Pushed, RemoteMoved, RemoteRefused, push_task_branch
from fleet.git.remote.remote_git import RemoteSilent
from fleet.home import Home
from fleet.home.clone_record import branch_of
from fleet.home.task_policy import forge_settings
from fleet.landing.remote.merged_work import catch_up_with, land_merged
from fleet.landing.remote.remote_line import RemoteLine, remote_line
from fleet.landing.settle_landing import Unlandable
from fleet.landing.train_state import TrainEnd, TrainState
from fleet.landing.waiting_work import WaitingWork
from fleet.runs import receipt_json
from fleet.runs.run_directory import latest_run

#: After a merge was asked for the forge is looked at again soon.
_SOON = timedelta(seconds=1)
#: Seconds for the git commands of one look at all pull requests of a branch.
_LIMIT = 900.0


def watch_pull_requests(at: TrainState, works: Sequence[WaitingWork]) -> TrainEnd:
    """Look after the pull requests of a branch, under the lock of the branch's landers; which of
    them are watched, and when the forge is asked again.
    """
    home, settler = at.home, at.settler
    mine = [work for work in works if work.landing.to == "pr" and work.landing.commit]
    mine = [work for work in mine if work.landing.state in ("waiting", "asks")]
    if not mine:
        return TrainEnd()
    land = at.land(_LIMIT)
    line = remote_line(home, land, at.branch)
    forge = line if isinstance(line, str) else _forge(home, land, line)
    if isinstance(line, str) or isinstance(forge, str):
        for work in mine:
            settler.ask(work, str(forge).replace("land ID", f"land {work.task_id}"))
        return TrainEnd()
    due = _PullRequestRun(at, land.git, line, forge).look_after(mine)
    if due is None:
        return TrainEnd()
    open_ = [work.task_id for work in mine if pull_request_json.read(home, work.task_id)]
    gone = {*settler.closed, *settler.back}
    again_in = max(_SOON.total_seconds(), (due - at.now()).total_seconds())
    watched = tuple(each for each in open_ if each not in gone)
    return TrainEnd(watched=watched, again_in=again_in)


def _forge(home: Home, land: LandRepository, line: RemoteLine) -> Forge | str:
    """The forge of a branch; a text for a person where fleet cannot connect."""
    try:
        settings = forge_settings(config.load(home.config), land.repo.root)
        return connect(line.upstream.url, *settings, land.own)
    except FleetError as error:
        return f"{error.message}. {error.hint}".rstrip() + " Then: fleet land ID"


class _PullRequestRun:
    """Looks once after each pull request of a branch that is due."""

    def __init__(self, at: TrainState, git: Git, line: RemoteLine, forge: Forge) -> None:
        self._at, self._home, self._settler, self._now = at, at.home, at.settler, at.now
        self._git, self._line, self._forge = git, line, forge

    def look_after(self, works: Sequence[WaitingWork]) -> datetime | None:
        """See to each of these tasks; when the next one is due, if one is."""
        found = [self._one(work) for work in works]
        return min((each for each in found if each is not None), default=None)

    def _one(self, work: WaitingWork) -> datetime | None:
        pr = pull_request_json.believed(self._home, work.task_id)
        if pr is not None and self._is_over(work, pr):
            pull_request_json.set_aside(self._home, work.task_id, pr)
            pr = None
        waits = work.landing.state == "waiting"
        if pr is None:
            return self._open(work) if waits else None
        if waits and work.landing.commit != pr.head:
            return self._push_again(work, pr)
        if pr.next_at > self._now() and not self._was_released(work, pr):
            return pr.next_at
        return self._look(work, pr)

    def _is_over(self, work: WaitingWork, pr: PullRequest) -> bool:
        """A person closed the pull request and had fleet go on, or the remote is at another address
        now.
        """
        closed = pr.facts is not None and pr.facts.state == "closed"
        return (closed and work.landing.state == "waiting") or pr.url != self._line.upstream.url

    @staticmethod
    def _was_released(work: WaitingWork, pr: PullRequest) -> bool:
        """A person approved the task since the forge was asked last."""
        return pr.facts is not None and work.landing.at > pr.facts.at

    # Opening, and pushing again.

    def _open(self, work: WaitingWork) -> datetime | None:
        task_id, branch = work.task_id, branch_of(work.task_id)
        if not self._push(work, branch, old=""):
            return self._again()
        run = latest_run(self._home.task(task_id))
        receipt = receipt_json.read(run) if run is not None else None
        draft = PullRequestDraft(
            branch=branch,
            base=self._line.upstream.branch,
            title=work.landing.title,
            body=pull_request_body(task_id, work.landing.title, receipt),
        )
        opened = self._forge.open(draft)
        if not isinstance(opened, Opened):
            self._failed(work, opened)
            return self._again()
        now = self._now()
        pr = PullRequest(
            url=self._line.upstream.url,
            number=opened.number,
            page=opened.page,
            branch=branch,
            base=draft.base,
            heads=(work.landing.commit,),
            pushed_at=now,
            next_at=now,
        )
        self._keep(work, pr)
        self._settler.tell(task_id, f"pull request #{pr.number} is open: {pr.page}")
        return self._look(work, pr)

    def _push_again(self, work: WaitingWork, pr: PullRequest) -> datetime | None:
        """New work of the task goes to the same pull request."""
        if not self._push(work, pr.branch, old=pr.head):
            return self._again()
        now = self._now()
        heads = (*pr.heads, work.landing.commit)
        pr = structs.replace(pr, heads=heads, pushed_at=now, next_at=now, merge_asked="")
        self._keep(work, pr)
        return self._look(work, pr)

    def _push(self, work: WaitingWork, branch: str, *, old: str) -> bool:
        new = work.landing.commit
        remote, ref = self._line.remote, f"refs/heads/{branch}"
        answer = push_task_branch(remote, self._git, ref=ref, old=old, new=new)
        match answer:
            case Pushed(now=now) if now == new:
                return True
            case Pushed(now=now) | RemoteMoved(now=now):
                why = (
                    f"{branch} on {self._line.upstream.shown} stands at {now[:12] or 'nothing'},"
                    f" where fleet did not put it. Delete it there, and then: fleet land"
                    f" {work.task_id}"
                )
                self._settler.ask(work, why)
            case RemoteRefused(why=why):
                self._settler.ask(work, f"{self._line.upstream.shown} refuses {branch}: {why}")
            case RemoteSilent(why=why):
                self._settler.keep_waiting(
                    work, f"{self._line.upstream.shown} gives no answer: {why}"
                )
        return False

    # Looking, and what follows.

    def _look(self, work: WaitingWork, pr: PullRequest) -> datetime | None:
        found = self._forge.facts(pr.number, self._now(), pr.facts)
        if not isinstance(found, PullRequestFacts):
            failures = pr.failures + 1
            due = after_silence(failures, self._now())
            trouble = {"failures": failures, "trouble": found.why, "next_at": due}
            self._keep(work, structs.replace(pr, **trouble))
            self._failed(work, found)
            return due
        unasked = work.rules.mode == "auto" and not work.landing.asks
        may_merge = unasked or bool(work.landing.approved_by)
        if self._was_released(work, pr):
            pr = structs.replace(pr, merge_asked="")
        same = pr.facts is not None and says_the_same(pr.facts, found)
        changed_at = pr.changed_at if same and pr.changed_at is not None else found.at
        due = next_look(pr, found, changed_at)
        pr = structs.replace(pr, changed_at=changed_at, next_at=due)
        follow = reactions(pr, found, may_merge=may_merge, now=self._now())
        pr = structs.replace(pr, facts=found, failures=0, trouble="")
        self._keep(work, pr)
        if work.landing.state != "waiting":  # a person has the task: only a merge counts
            follow = tuple(each for each in follow if isinstance(each, MergedThere))
        return self._carry_out(work, pr, found, follow)

    def _carry_out(
        self, work: WaitingWork, pr: PullRequest, facts: PullRequestFacts, all_: Sequence[Reaction]
    ) -> datetime | None:
        back = [each for each in all_ if isinstance(each, SendBack)]
        asks = [each for each in all_ if isinstance(each, AskPerson)]
        for each in all_:
            match each:
                case MergedThere(commit=commit):
                    return land_merged(self._at, self._git, self._line, work, pr, commit)
                case MergeNow(head=head):
                    return self._merge(work, pr, facts, head)
                case KeepWatching(why=why):
                    self._settler.keep_waiting(work, f"pull request #{pr.number}: {why}")
                case _:
                    pass
        note = partial(self._note, work, pr, facts, tuple(all_))
        if back and not asks:
            return None if self._send_back(work, pr, back, note) else pr.next_at
        if asks:
            self._settler.ask(work, "; ".join(each.why for each in asks) + f" ({pr.page})")
        note()
        return pr.next_at if not asks else None

    def _merge(
        self, work: WaitingWork, pr: PullRequest, facts: PullRequestFacts, head: str
    ) -> datetime | None:
        answer = self._forge.merge(
            pr.number, head=head, how=work.landing.lands_as, queue=facts.has_queue
        )
        if answer is not None:
            self._failed(work, answer)
            return pr.next_at
        due = self._now() + _SOON
        pr = structs.replace(noted(pr, facts, (MergeNow(head=head),)), next_at=due)
        self._keep(work, pr)
        return due

    def _send_back(
        self,
        work: WaitingWork,
        pr: PullRequest,
        back: Sequence[SendBack],
        note: Callable[[], None],
    ) -> bool:
        """Give the task back to the agent with all that was found."""
        kinds: list[BackKind] = [each.kind for each in back]
        if "conflict" in kinds and (why := catch_up_with(self._at, self._line, work)):
            self._settler.ask(work, why)
            return False
        rounds = ", ".join(f"{kind} {pr.rounds.get(kind, 0) + 1}" for kind in kinds)
        words = f"pull request #{pr.number} needs more work ({rounds}) at {pr.head[:12]}"
        output = "\n\n".join(each.text for each in back)
        sent = Unlandable(why=kinds[0], words=words, output=output)
        self._settler.send_back(work, sent, counted=False, note=note)
        return True

    def _note(
        self,
        work: WaitingWork,
        pr: PullRequest,
        facts: PullRequestFacts,
        done: tuple[Reaction, ...],
    ) -> None:
        new = noted(pr, facts, done)
        if new != pr:
            self._keep(work, new)

    def _keep(self, work: WaitingWork, pr: PullRequest) -> None:
        """Write the record. The host that runs the task next, or takes its landing over, goes on
        with the same pull request.
        """
        pull_request_json.write(self._home, work.task_id, pr)
        self._settler.share(work.task, pull_request_json.FILE)

    def _failed(self, work: WaitingWork, answer: ForgeRefused | ForgeSilent) -> None:
        """A no is for a person; silence is waited out."""
        if isinstance(answer, ForgeRefused):
            self._settler.ask(work, f"the forge says no: {answer.why}")
        else:
            self._settler.keep_waiting(work, f"the forge gives no answer: {answer.why}")

    def _again(self) -> datetime:
        return self._now() + SOONEST * 3
