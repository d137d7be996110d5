"""The task whose agent writes a plan."""

from fleet.control.plan.write import write_goal
from fleet.home.task_json import recorded_settings, settings_of


def test_its_code_comes_from_where_that_of_other_tasks_does(fleet, repo):
    """Or no other host that shares the queue could write the plan."""
    commit = repo.commit("first", GOAL_dot_md="# Reset passwords\n")
    repo.git("remote", "add", "origin", "https://git.example.org/app.git")
    (task,) = write_goal(fleet, str(repo.root / "GOAL.md")).tasks
    origin = recorded_settings(task).repository
    assert (origin.url, origin.commit) == ("https://git.example.org/app.git", commit)
    assert settings_of(fleet.home, task).repository == origin
