"""Verify and set-up commands in the box: what an agent wrote runs in there, and nowhere else."""

import textwrap

from fleet.runs import receipt_json
from tests.repos import Repo
from tests.story.test_box import END, TOOL, boxed

__all__ = ["boxed"]


def add(scene, script, **wishes):
    """A task in a repository whose agent is this script, and closes its task."""
    repo = Repo(scene.project)
    repo.git("config", "user.name", "me")
    repo.git("config", "user.email", "me@example.org")
    (scene.project / "agent.sh").write_text(
        f"{TOOL}\n{textwrap.dedent(script)}\nbd close $FLEET_TASK_ID --reason made >&2\n{END}\n"
    )
    repo.commit()
    return scene.add("agent.sh", coder="script", **wishes)


def test_a_verify_command_runs_in_the_box_without_keys_and_network(boxed, tmp_path):
    """A test that the agent wrote reads no key, writes nothing outside and reaches no host."""
    (tmp_path / "key").write_text("canary")
    script = f"""
    cat > check.sh <<'SCRIPT'
    cat {tmp_path}/key {boxed.home.path}/runtime.toml $HOME/.ssh/id_rsa; env
    echo x > {tmp_path}/outside; echo x > /etc/outside
    (exec 3<> /dev/tcp/127.0.0.1/1) 2>&1; ls /sys/class/net /proc/net/dev; cat /proc/net/dev
    SCRIPT
    """
    boxed.env["ANTHROPIC_API_KEY"] = "canary"
    task = add(boxed, script, verify=("sh check.sh; test -e agent.sh",))
    boxed.supervise()
    boxed.until_status(task, "closed")
    (check,) = receipt_json.read(boxed.run(task)).checks
    assert check.passed
    printed = (boxed.run(task).path / "verify/1/stdout").read_text()
    assert "canary" not in printed
    assert [line.split(":")[0].strip() for line in printed.splitlines() if ":" in line][-1] == "lo"
    assert not (tmp_path / "outside").exists()


def test_a_set_up_command_that_wants_the_network_is_told_of_the_setting(boxed):
    """Offline by default; the message names the key that opens hosts."""
    config = boxed.home.config.read_text()
    setup = 'setup = ["cp \\"$FLEET_PROJECT_DIR/secret.env\\" .env", "test -e .env && exit 7"]'
    boxed.home.config.write_text(f'{config}\n[projects."{boxed.project}"]\n{setup}\n')
    task = add(boxed, "true")
    (boxed.project / "secret.env").write_text("A=1")
    boxed.supervise()
    blocked = boxed.until_status(task, "blocked")
    assert "ended with 7" in blocked.notes
    assert "setup_hosts" in blocked.notes
