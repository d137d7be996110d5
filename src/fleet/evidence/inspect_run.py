"""The inspection of a run that is over: changes, scope, the verify commands, and what is to land.

The inspection may take minutes, so the supervisor does it outside of its loop.
"""

import os
import threading
import time

from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.evidence.base_check import (
    BaseCase,
    base_case,
    known_trials,
    may_be_made,
    try_base,
    why_not_started,
    with_base,
)
from fleet.evidence.exam_rules import exam_of
from fleet.evidence.file_rules import why_files_ask
from fleet.evidence.landing_rules import landing_findings
from fleet.evidence.other_task_dirs import in_same_tree, lost_directories
from fleet.evidence.scope_rules import ScopeFacts, scope_findings
from fleet.evidence.shared_tree import deeds, own_changes
from fleet.evidence.verify_commands import FOLDER, check_in, forget_failed
from fleet.evidence.verify_place import InspectedRun, verify_place
from fleet.files.machine_short import is_short, shortage, words_of
from fleet.git import repository
from fleet.git.clone.agent_git_dir import read_head
from fleet.git.clone.task_refs import task_refs
from fleet.git.clone.work_elsewhere import work_elsewhere
from fleet.git.git_command import Git
from fleet.git.land.merge_facts import merge_facts
from fleet.git.own.own_repository import known_repository
from fleet.git.refs import merge_base, tree_of
from fleet.git.repository import Repository
from fleet.git.run_baseline import base_now, changes_since, repository_of
from fleet.git.tree_difference import MOST_FILES, file_changes, new_blobs
from fleet.home import clone_record
from fleet.runs import stop_reason
from fleet.runs.run_directory import Run, newest_first
from fleet.schemas import Base, Changes, Check, Exam, FileChange, Finding, Policy, Stopped
from fleet.schemas.decision import OURS

#: Seconds for git to tell the tree of a commit.
_GIT_LIMIT = 30.0


class LandingWork(Struct, frozen=True, kw_only=True):
    """The work of a clone that differs from what the clone was made from."""

    #: The top of the working tree that the task names, and the branch to land on; empty: none.
    repository: str
    into: str
    #: The commit that the clone was made from, and the tree that was verified.
    base: str
    tree: str


class Inspection(Struct, frozen=True, kw_only=True):
    """The result of an inspection."""

    changes: Changes | None = None
    checks: tuple[Check, ...] = ()
    #: What the work of all runs changes of the exam.
    exam: Exam = Exam()
    #: What the work of all runs changes, where earlier runs have a part in it.
    whole: tuple[FileChange, ...] = ()
    #: Why a person has to look at the files that are to land, a line for each kind.
    file_asks: tuple[str, ...] = ()
    trespasses: tuple[Finding, ...] = ()
    #: The rules of landing that the run broke, if it was to finish a merge.
    refusals: tuple[Finding, ...] = ()
    #: What is to land if the claim holds; None: nothing is.
    landing: LandingWork | None = None
    #: Why the claim cannot be checked at all, which a person has to mend; empty if it can.
    trouble: str = ""
    #: What is damaged, so that nothing can be said of the run, whatever it claims; a person has to
    #: mend it. Empty: nothing is.
    damage: str = ""
    #: What the machine is short of: nothing may be decided, and the run is inspected again once the
    #: machine is well. Empty: of nothing.
    short: str = ""
    #: The inspection was broken off: nothing may be decided on its result.
    abandoned: bool = False

    @property
    def is_clean(self) -> bool:
        """Nothing that was found speaks against the run."""
        wrong = self.trespasses or self.refusals or self.trouble or self.damage
        return not wrong and all(check.passed for check in self.checks)


def inspect_run(ended: InspectedRun, abandon: threading.Event) -> Inspection:
    """Inspect a run until `abandon` is set. Blocks; not for the loop's thread.

    Whatever speaks against the run on a machine that is short of something may come from that.
    """
    home = ended.run.home.path
    try:
        found = _inspect(ended, abandon)
    except (FleetError, OSError, ValueError) as error:
        if not isinstance(error, ValueError) and is_short(error):
            forget_failed(ended.run.path)
            return Inspection(short=words_of(error, home))
        # An agent may leave anything behind; a claim that cannot be inspected is not believed.
        damage = f"the run could not be inspected: {type(error).__name__}: {error}"
        found = Inspection(changes=Changes(base="", trouble=damage), damage=damage)
    if found.abandoned or found.is_clean or not (short := shortage(home)):
        return found
    forget_failed(ended.run.path)
    return Inspection(short=short)


def _inspect(ended: InspectedRun, abandon: threading.Event) -> Inspection:
    if ended.is_short:
        return Inspection()
    # Before the verify commands, whose own changes are not the agent's.
    # A supervisor that died may have begun them: then the run's tree is the one stored before.
    begun = ended.in_directory and next(newest_first(ended.run.path, FOLDER), None) is not None
    changes = None
    if ended.base is not None:
        changes = changes_since(ended.base, ended.run, stored=begun)
    trespasses: tuple[Finding, ...] = ()
    damage = ""
    if ended.base is not None and changes is not None:
        run, base, cwd = ended.run, ended.base, os.path.realpath(ended.cwd)
        tasks = in_same_tree(run, base.root)
        now = base_now(base, run.home.path)
        damage = now.damage
        if base.snapshot and not changes.tree and not now.gone:
            damage = changes.trouble or damage
        trespasses = scope_findings(
            ScopeFacts(
                base=base,
                now=now,
                changes=changes,
                policy=ended.policy,
                inside=os.path.relpath(cwd, base.root),
                lost=lost_directories(run),
                in_same_tree=tasks,
            )
        )
        own = deeds(ended.edited, ended.commands, base.root, cwd)
        changes = own_changes(run, base, changes, own, tasks)
    if damage:
        return Inspection(changes=changes, trespasses=trespasses, damage=damage)
    refusals: tuple[Finding, ...] = ()
    landing = None
    file_asks: tuple[str, ...] = ()
    work, exam = list[FileChange](), Exam()
    try:
        if ended.claimed and ended.base is not None and changes is not None:
            changes = _with_misplaced(ended.run, ended.base, changes)
        refusals = _landing_refusals(ended, changes)
        judged = ended.claimed and bool(ended.policy.verify) and not refusals
        checks = _checks(ended, changes, abandon) if judged else ()
        if ended.claimed:
            work = _whole(ended, changes, checks or ())
            exam = exam_of(work, ended.policy, _inside(ended, ended.base)) if work else Exam()
        if ended.claimed and checks is not None and not refusals:
            landing = landing_work(ended.run, ended.policy, ended.base, changes, checks)
            if landing is not None and ended.base is not None:
                file_asks = _file_asks(ended, ended.base, landing)
    except (FleetError, OSError) as error:
        if is_short(error):
            raise
        return Inspection(changes=changes, trespasses=trespasses, trouble=str(error))
    if checks is None:
        return Inspection(changes=changes, trespasses=trespasses, abandoned=True)
    return Inspection(
        checks=checks,
        exam=exam,
        whole=() if changes is None or {*work} == {*changes.files} else tuple(work[:MOST_FILES]),
        file_asks=file_asks,
        changes=changes,
        trespasses=trespasses,
        refusals=refusals,
        landing=landing,
    )


def _with_misplaced(run: Run, base: Base, changes: Changes) -> Changes:
    """Add where else the work of a clone is, and whether its history is another one.

    Raises FleetError.
    """
    home, task_id = run.home, run.task_id
    record = clone_record.read(home, task_id)
    if record is None or not changes.tree or base.root != os.path.realpath(home.clone(task_id)):
        return changes
    head = read_head(home.clone(task_id) / ".git").commit or base.head
    git = Git(known_repository(home.path, base.root), time.monotonic() + _GIT_LIMIT)
    related = head in ("", record.commit) or merge_base(git, record.commit, head)
    found = structs.replace(
        changes.misplaced,
        elsewhere=work_elsewhere(home, task_id, changes.tree),
        unrelated_to="" if related else record.commit,
    )
    return structs.replace(changes, misplaced=found)


def _landing_refusals(ended: InspectedRun, changes: Changes | None) -> tuple[Finding, ...]:
    """The rules of landing that a claim breaks, if the run was to finish a merge.

    Raises FleetError.
    """
    merge = ended.base.merge if ended.base is not None else None
    if not ended.claimed or merge is None or changes is None:
        return ()
    if not changes.tree:
        raise FleetError(f"the merge cannot be inspected: {changes.trouble}")
    home, task_id = ended.run.home, ended.run.task_id
    refs = task_refs(home, task_id)
    if refs is None:
        raise FleetError("the merge cannot be inspected: the project's repository is gone")
    return landing_findings(merge_facts(home, refs, merge, changes.tree))


def _was_stopped(run: Run) -> bool:
    """A person stopped the run while no supervisor was there to break off the inspection."""
    reason = stop_reason.read(run)
    return isinstance(reason, Stopped) and reason.by not in OURS


def _checks(
    ended: InspectedRun, changes: Changes | None, abandon: threading.Event
) -> tuple[Check, ...] | None:
    """Run the verify commands in the place for them; None: broken off."""
    if _was_stopped(ended.run):
        return None
    run = ended.run
    with verify_place(ended, changes) as place:
        done = check_in(
            place, ended.policy.verify, ended.policy,
            home=run.home, records=run.path, mark=run.spec().id, abandon=abandon,
        )  # fmt: skip
    if done is None:
        return None
    # A set-up that fails is a failure of the work: it made the checkout unfit.
    failed = done.setup
    checks = done.checks
    if failed is not None:
        checks = (structs.replace(failed, trouble=_setup_trouble(failed)),)
    first = structs.replace(checks[0], restored=place.restored)
    checks = tuple(
        structs.replace(check, tree=place.tree, lacks=place.lacks) for check in (first, *checks[1:])
    )
    return checks if failed is not None else _with_base(ended, checks, abandon)


def _with_base(
    ended: InspectedRun, checks: tuple[Check, ...], abandon: threading.Event
) -> tuple[Check, ...] | None:
    """The checks with what their commands came to on the base; None: broken off.

    Raises FleetError for a command that cannot be started and that is not known to have been
    started before: a person has to mend it.
    """
    case = _base_case(ended)
    trials = known_trials(case, for_start=False) if case is not None else None
    if case is not None and trials is None and _merge(ended):
        # The base is the line that was merged, which no run began at.
        trials = try_base(case, abandon)
        if trials is None:
            return None
    if trials is not None:
        return with_base(checks, trials)
    for check in checks:
        words = why_not_started(check)
        own = ended.policy.verify_is_own and may_be_made(check, ended.cwd)
        if words and not own:
            raise FleetError(f"verify cannot be started: `{check.command}`: {words}")
    return checks


def _merge(ended: InspectedRun) -> str:
    """The commit of the line that the run was to merge; empty: it was not sent back."""
    merge = ended.base.merge if ended.base is not None else None
    return merge.line if merge is not None else ""


def _base_case(ended: InspectedRun) -> BaseCase | None:
    """The commands on the commit that the work began at; None: there is no such commit, or the
    commands run in the run's own directory.
    """
    found, base = _began_at(ended), ended.base
    if found is None or base is None or ended.in_directory:
        return None
    repo, commit = found
    cwd = os.path.normpath(f"{repo.root}/{_inside(ended, base)}")
    return base_case(ended.run.home, repo, commit, ended.policy, cwd=cwd)


def _inside(ended: InspectedRun, base: Base | None) -> str:
    """The run's directory from the top of its tree."""
    return os.path.relpath(os.path.realpath(ended.cwd), base.root) if base is not None else "."


def _began_at(ended: InspectedRun) -> tuple[Repository, str] | None:
    """The project's repository, and the commit that the work of all runs began at; for work that
    was sent back, the line that it was to be merged with.
    """
    home, task_id, base = ended.run.home, ended.run.task_id, ended.base
    if base is None:
        return None
    record = clone_record.read(home, task_id)
    in_clone = record is not None and base.root == os.path.realpath(home.clone(task_id))
    if record is not None and in_clone:
        repo, commit = repository.find(record.repository), _merge(ended) or record.commit
    else:
        repo, commit = repository.find(ended.cwd), (ended.first or base).head
    return (repo, commit) if repo is not None and commit else None


def _whole(
    ended: InspectedRun, changes: Changes | None, checks: tuple[Check, ...]
) -> list[FileChange]:
    """What the work of all runs changes. Raises GitFailed."""
    found, base = _began_at(ended), ended.base
    repo = repository_of(base) if base is not None else None
    if found is None or base is None or repo is None or changes is None or not changes.tree:
        return []
    tree = (checks[0].tree if checks else "") or changes.tree
    in_clone = found[0].root != repo.root
    # In the directory itself a person's own unfinished work was there before.
    before = found[1] if in_clone else (ended.first or base).snapshot or found[1]
    git = Git(known_repository(ended.run.home.path, repo.root), time.monotonic() + _GIT_LIMIT)
    return list(file_changes(git, before, tree))


def _file_asks(ended: InspectedRun, base: Base, landing: LandingWork) -> tuple[str, ...]:
    """Why a person has to look at files of what is to land. Raises GitFailed."""
    own = known_repository(ended.run.home.path, base.root)
    git = Git(own, time.monotonic() + _GIT_LIMIT)
    return why_files_ask(new_blobs(git, _merge(ended) or landing.base, landing.tree))


def _setup_trouble(check: Check) -> str:
    how = check.trouble or ("took too long" if check.timed_out else f"ended with {check.code}")
    return f"{how}, as it was to set up a fresh checkout"


def landing_work(
    run: Run, policy: Policy, base: Base | None, changes: Changes | None, checks: tuple[Check, ...]
) -> LandingWork | None:
    """What is to land of a run whose claim is judged; None: nothing is, or nothing differs.

    Raises GitFailed.
    """
    home, task_id = run.home, run.task_id
    if not policy.land.lands or base is None or changes is None or not changes.tree:
        return None
    record = clone_record.read(home, task_id)
    repo = repository_of(base)
    if record is None or repo is None or base.root != os.path.realpath(home.clone(task_id)):
        return None
    # Where files are pinned, the commands ran on the tree with the pinned ones.
    tree = (checks[0].tree if checks else "") or changes.tree
    git = Git(known_repository(home.path, repo.root), time.monotonic() + _GIT_LIMIT)
    if tree_of(git, record.commit) == tree:
        return None
    return LandingWork(
        repository=record.repository,
        into=policy.land.into or ("" if policy.land.asks_branch else record.branch),
        base=record.commit,
        tree=tree,
    )
