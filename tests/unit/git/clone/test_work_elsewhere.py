"""Which work of a clone is not in what its agent left checked out, and which only seems so."""

import pytest

from fleet.git.clone.work_elsewhere import work_elsewhere
from fleet.git.run_baseline import changes_since
from fleet.runs.run_directory import Run
from fleet.supervisor.cleanup import collect
from tests.clones import TASK, git, prepared
from tests.repos import Repo

#: What the agent did, as lines of a shell, and what is found; every line begins in a fresh clone.
ELSEWHERE = {
    "on a branch": ("git checkout -qb other; work; git checkout -q -", [("branch", "other", 1)]),
    "two on a branch": (
        "git checkout -qb other; work; more; git checkout -q -",
        [("branch", "other", 2)],
    ),
    "on a branch in a pack": (
        "git checkout -qb other; work; git checkout -q -; git gc -q",
        [("branch", "other", 1)],
    ),
    "on a branch, and work on the task's": (
        "git checkout -qb other; work; git checkout -q -; more",
        [("branch", "other", 1)],
    ),
    "on the project's branch": (
        "git checkout -q main; work; git checkout -q -",
        [("branch", "main", 1)],
    ),
    "on the task's branch, and another is checked out": (
        "work; git checkout -q --detach HEAD~1",
        [("branch", "fleet/fleet-1", 1)],
    ),
    "in a stash": ("change; git stash -q", [("stash", "stash@{0}", 1)]),
    "a new file in a stash": ("echo new > new; git stash -qu", [("stash", "stash@{0}", 1)]),
    "in the second stash": (
        "echo new > new; git stash -qu; change; git stash -q; git stash apply -q",
        [("stash", "stash@{1}", 1)],
    ),
    "in a stash, and work on the branch": (
        "change; git stash -q; more",
        [("stash", "stash@{0}", 1)],
    ),
    "taken off the branch": ("work; git reset -q --hard HEAD~1", [("rewound", "", 1)]),
    "two taken off the branch": ("work; more; git reset -q --hard HEAD~2", [("rewound", "", 2)]),
    "taken off by its ref": (
        "work; git update-ref refs/heads/fleet/fleet-1 HEAD~1; git reset -q --hard",
        [("rewound", "", 1)],
    ),
    "on no branch": (
        "git checkout -q --detach; work; git checkout -q fleet/fleet-1",
        [("rewound", "", 1)],
    ),
}
HERE = {
    "nothing at all": ":",
    "committed": "work",
    "not committed": "change",
    "on another branch, which is checked out": "git checkout -qb other; work",
    "on no branch, which is checked out": "git checkout -q --detach; work",
    "merged": "git checkout -qb other; work; git checkout -q -; git merge -q other",
    "merged with a commit": (
        "git checkout -qb other; work; git checkout -q -; more; git merge -q other -m merge"
    ),
    "squashed": (
        "git checkout -qb other; work; work2; git checkout -q -; git merge -q --squash other;"
        " git commit -qm squashed"
    ),
    "squashed and not committed": (
        "git checkout -qb other; work; git checkout -q -; git merge -q --squash other"
    ),
    "picked": (
        "git checkout -qb other; work; git checkout -q -; more; git cherry-pick other > /dev/null"
    ),
    "rebased": (
        "git checkout -qb other; work; git checkout -q -; more; git checkout -q other;"
        " git rebase -q fleet/fleet-1; git checkout -q -; git merge -q other"
    ),
    "amended": "work; echo 2 >> work; git commit -qa --amend -m better",
    "amended twice": "work; git commit -q --amend -m a; git commit -q --amend -m b",
    "reworded by a rebase": (
        "work; more; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' GIT_EDITOR=true"
        " git rebase -q -i HEAD~2"
    ),
    "done in another way": "work; git reset -q --hard HEAD~1; more",
    "reset and kept": "work; git reset -q --soft HEAD~1",
    "the last of two given up": "work; more; git reset -q --hard HEAD~1",
    "a branch at the same commit": "work; git branch same",
    "a branch without work": "git branch same; work",
    "stashed and popped": "change; git stash -q; git stash pop -q",
    "stashed and applied": "change; git stash -q; git stash apply -q",
    "a new file stashed and applied": "echo new > new; git stash -qu; git stash apply -q",
    "stashed, applied and committed": (
        "change; git stash -q; git stash apply -q; git commit -qam changed; more"
    ),
    "given up for nothing": "work; git revert --no-edit HEAD > /dev/null",
}
SHELL = """\
set -e
work() { echo 1 > work; git add -A; git commit -qm 'fix it'; }
work2() { echo 2 > work2; git add -A; git commit -qm 'fix it too'; }
more() { echo 3 > more; git add -A; git commit -qm 'one more'; }
change() { echo 'print(1)' > app/main.py; }
"""


class AgentAtWork:
    """A task's clone, in which one run after the other runs a script."""

    def __init__(self, home, repo):
        self.home, self.repo, self.number = home, repo, 0

    def run(self, script):
        """What is elsewhere once the agent has run a script; then the work is brought home."""
        self.number += 1
        run = Run(self.home.task(TASK) / "runs" / str(self.number))
        run.path.mkdir(parents=True)
        place = prepared(self.home, self.repo.root)
        git(place.cwd, "-c", f"alias.run=!{SHELL}\n{script}", "run")
        changes = changes_since(place.base, run)
        assert changes.tree, changes.trouble
        found = work_elsewhere(self.home, TASK, changes.tree)
        collect(self.home, TASK)
        return found


@pytest.fixture
def agent(home, repo):
    return AgentAtWork(home, repo)


def kinds(found):
    return [(each.kind, each.name, each.count) for each in found]


@pytest.mark.parametrize("case", ELSEWHERE)
def test_work_beside_what_is_checked_out_is_found(agent, case):
    """With the place, the number of commits, and the title of the last one."""
    script, expected = ELSEWHERE[case]
    seen = agent.run(script)
    assert kinds(seen) == expected
    assert all(each.commit and each.title and each.held_by for each in seen)
    for each in seen:
        held = agent.repo.git("rev-parse", each.held_by)
        assert each.commit in agent.repo.git("rev-list", held).split()


@pytest.mark.parametrize("case", HERE)
def test_what_a_merge_would_add_nothing_of_is_not_elsewhere(agent, case):
    """The honest ways of working: scratch branches, stashes, rewritten commits."""
    assert agent.run(HERE[case]) == ()


def test_a_branch_and_a_stash_are_found_until_they_are_gone(agent):
    """By later runs too, though the project holds their commits by then."""
    script = "git checkout -qb other; work; git checkout -q -; change; git stash -q"
    both = [("branch", "other", 1), ("stash", "stash@{0}", 1)]
    assert kinds(agent.run(script)) == both
    assert kinds(agent.run("more")) == both
    assert kinds(agent.run("git merge -q other -m merge")) == both[1:]
    assert agent.run("git stash drop -q") == ()


def test_an_agent_may_stand_by_taking_all_of_its_work_back(agent):
    """Commits on no branch are found once: fleet holds them from then on."""
    assert kinds(agent.run("work; git reset -q --hard HEAD~1")) == [("rewound", "", 1)]
    assert agent.run(":") == ()
    assert agent.run("git checkout -qb other; more; git checkout -q -") != ()
    assert agent.run("git branch -qD other") == ()


def test_work_of_an_earlier_run_that_is_taken_off_is_found(agent):
    """The project holds it as the latest work of the task."""
    assert agent.run("work") == ()
    assert kinds(agent.run("git reset -q --hard HEAD~1")) == [("rewound", "", 1)]
    assert agent.run(":") == ()


def test_a_branch_of_the_project_that_moved_since_is_no_work_of_the_agents(agent):
    """The clone has a copy of each, which may lead to a commit that no branch has any more."""
    agent.repo.git("checkout", "-qb", "side")
    agent.repo.commit("on the side", side="1")
    agent.repo.git("checkout", "-q", "main")
    assert agent.run("work") == ()
    agent.repo.git("branch", "-qD", "side")
    agent.repo.commit("main goes on", main="1")
    assert agent.run("more; git stash list") == ()


def test_what_was_fetched_is_no_work_of_the_agents(agent, tmp_path):
    """A branch that follows one of a remote."""
    other = Repo(tmp_path / "other")
    other.git("pull", "-q", str(agent.repo.root), "main")
    other.commit("of others", theirs="1")
    agent.repo.git("remote", "add", "origin", str(other.root))
    script = "git fetch -q origin; git branch -q look origin/main; work"
    assert agent.run(script) == ()
