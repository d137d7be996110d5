"""The tasks of the demo fit together."""

from collections import Counter

from fleet.demo.script import KILLED_DURING, TASKS
from fleet.demo.simulated_agent import BEHAVIOURS, find_task


def test_a_task_comes_after_the_tasks_it_needs():
    """Tasks are made in this order, and a dependency needs an id."""
    before = set()
    for task in TASKS:
        assert before >= set(task.needs), task.title
        before.add(task.key)


def test_every_behaviour_is_shown():
    """Each simulated behaviour belongs to a task, and each task names one."""
    assert {task.behaviour for task in TASKS} == set(BEHAVIOURS)


def test_one_line_is_all_that_two_tasks_contend_for():
    """So one task goes back, however the others fall in time."""
    paths = Counter(path for task in TASKS for path in task.files)
    assert [path for path, count in paths.items() if count > 1] == ["README.md"]
    contend = [task for task in TASKS if "README.md" in task.files]
    assert [task.goes_back for task in contend] == [True, False]
    assert sum(task.goes_back for task in TASKS) == 1


def test_no_two_agents_wait_for_each_other_for_ever():
    """Each cue comes by a task that is at work, or by one that is after its own cue."""
    tasks = {task.key: task for task in TASKS}
    for task in TASKS:
        if task.cue and task.cue.is_ == "landed":
            other = tasks[task.cue.key].cue
            assert other is None or other.is_ != "landed"


def test_a_task_is_found_by_its_title():
    """The title is all that an agent knows of its task."""
    assert [find_task(task.title) for task in TASKS] == list(TASKS)


def test_an_agent_is_at_work_when_the_supervisor_is_killed():
    """The task exists, and its first agent does not end by itself."""
    assert next(task for task in TASKS if task.key == KILLED_DURING).behaviour == "wordy"
