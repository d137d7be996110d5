"""Which host may run a task is said where a person looks, and what a person does changes it."""

from tests.story.test_travel import COMMITTED, create, hosts

__all__ = ["hosts"]


def code_line(host, task_id):
    (line,) = (line for line in host.does("show", task_id).splitlines() if line.startswith("code:"))
    return line


def test_a_bound_task_travels_once_its_commit_is_pushed(hosts):
    """`fleet show` names the way out, and that way leads out."""
    alpha, _ = hosts
    alpha.repo.commit("not pushed", more="1\n")
    task_id, said = create(alpha)
    assert "it runs on this host only" in said
    assert "git push" in said
    _, said = create(alpha, "--host", "gamma")
    assert f"host gamma runs it in {alpha.repo.root} as that is there" in " ".join(said.split())
    alpha.repo.git("push", "-q", "origin", "main")
    assert f"to let it travel: fleet retry {task_id}" in code_line(alpha, task_id)
    alpha.does("retry", task_id)
    head = alpha.repo.git("rev-parse", "--short=12", "HEAD")
    assert code_line(alpha, task_id).endswith(f"{alpha.bare.root}@{head}")


def test_a_verify_command_that_a_host_does_not_trust_is_told_on_every_host(hosts):
    """The host declines the task, so that another one may take it at once; once its operator trusts
    the command, it runs there.
    """
    alpha, beta = hosts
    task_id, _ = create(alpha, "--verify", "true")
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.supervise()
    words = f"is not trusted there; look at it, then run on that host: fleet trust {task_id}"
    alpha.until(lambda: words in " ".join(alpha.does("show", task_id).split()))
    assert beta.task(task_id).not_before is None
    beta.does("trust", task_id)
    beta.until(lambda: beta.task(task_id).waits_to_land)


def test_a_host_that_is_paused_says_so_on_every_host(hosts):
    """In the list of hosts, and of a task that waits for that host."""
    alpha, beta = hosts
    beta.configure(host_name="beta")
    beta.supervise()
    beta.does("pause")
    alpha.until(lambda: "takes nothing: paused (fleet resume)" in alpha.does("hosts"))
    task_id, _ = create(alpha, "--host", "beta")
    assert "waits for host beta: paused (fleet resume)" in alpha.does("show", task_id)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.does("resume")
    alpha.until(lambda: alpha.task(task_id).waits_to_land)
