"""Which commands the tripwire meets, however they are written, and which it leaves alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.tripwire.hook import answer
from fleet.tripwire.rules import HINTS, trips
from fleet.tripwire.shell_parser import commands

CWD = "/srv/app"

#: A command, the rule that meets it, and how bad it is.
MET = [
    # rm, in every order and dress
    ("rm -rf /", "rm-recursive", "high"),
    ("rm -r -f ~/project", "rm-recursive", "high"),
    ("rm --recursive --force /home/ada", "rm-recursive", "high"),
    ("rm -f -R ../sibling", "rm-recursive", "high"),
    ("rm /etc -fr", "rm-recursive", "high"),
    ('rm -rf "/quoted path"', "rm-recursive", "high"),
    ("r''m -r'f' /x", "rm-recursive", "high"),
    ("\\rm -rf /x", "rm-recursive", "high"),
    ("/bin/rm -rf /x", "rm-recursive", "high"),
    ("rm -rf .", "rm-recursive", "high"),
    ("rm -rf *", "rm-recursive", "high"),
    ("rm -rf ./*", "rm-recursive", "high"),
    ("rm -rf .git", "rm-recursive", "high"),
    ("rm -rf /srv/app", "rm-recursive", "high"),
    ("rm -rf /srv/app2", "rm-recursive", "high"),
    ("rm -rf build/../../other", "rm-recursive", "high"),
    ('rm -rf "$UNSET/"', "rm-recursive", "high"),
    ("rm -rf $DIR/*", "rm-recursive", "high"),
    ("rm -rf -- /x", "rm-recursive", "high"),
    ("rm *", "rm-all", "high"),
    ("npx rimraf ../x", "rm-recursive", "high"),
    # through other programs, chains and substitutions
    ("sudo rm -rf /x", "rm-recursive", "high"),
    ("sudo -u root -- env A=1 B=2 nohup rm -rf /x", "rm-recursive", "high"),
    ("sh -c 'rm -rf /x'", "rm-recursive", "high"),
    ("/bin/bash -lc 'cd / && rm -rf x'", "rm-recursive", "high"),
    ("timeout 10 bash -c \"sh -c 'rm -rf /x'\"", "rm-recursive", "high"),
    ("ls && true || rm -rf /x; echo done", "rm-recursive", "high"),
    ("echo $(rm -rf /x)", "rm-recursive", "high"),
    ('echo "`rm -rf /x`"', "rm-recursive", "high"),
    ("if true; then rm -rf /x; fi", "rm-recursive", "high"),
    ("for d in a b; do\n  rm -rf /$d\ndone", "rm-recursive", "high"),
    ("echo 'rm -rf /x' | sh", "rm-recursive", "high"),
    ("bash <<'EOF'\nrm -rf /x\nEOF", "rm-recursive", "high"),
    ("eval 'rm -rf /x'", "rm-recursive", "high"),
    ("ssh host rm -rf /x", "rm-recursive", "high"),
    ("cd /var && rm -rf lib", "rm-recursive", "high"),
    ("cd .. && rm -rf other", "rm-recursive", "high"),
    ("git commit -m '#1: tidy' && rm -rf /x", "rm-recursive", "high"),
    ("(rm -rf /x)", "rm-recursive", "high"),
    ("find . -type d | xargs -n 1 rm -rf", "xargs-rm", "high"),
    # inside the task's own directory, or a temporary one
    ("rm -rf node_modules", "rm-recursive", "low"),
    ("rm -rf build/*", "rm-recursive", "low"),
    ("rm -rf ./dist /tmp/work", "rm-recursive", "high"),
    ("rm -rf /tmp/x/node_modules", "rm-recursive", "high"),
    ("D=/srv/x; rm -rf $D", "rm-recursive", "high"),
    ('D=/srv; rm -rf "${D}/x"', "rm-recursive", "high"),
    ('while read f; do rm -rf "$f"; done < list', "rm-recursive", "high"),
    ("for f in /srv/a /srv/b; do rm -rf $f; done", "rm-recursive", "high"),
    ("rm -rf $(cat list)", "rm-recursive", "high"),
    ('rm -rf "$@"', "rm-recursive", "high"),
    ("D=build; rm -rf $D/x", "rm-recursive", "low"),
    ("for d in build dist; do rm -rf $d/out; done", "rm-recursive", "low"),
    ('rm -rf "$PWD/build"', "rm-recursive", "low"),
    ("rm -rf /srv/app/target", "rm-recursive", "low"),
    ('tmp=$(mktemp -d); rm -rf "$tmp"', "rm-recursive", "low"),
    ("cd sub && rm -rf ../build", "rm-recursive", "low"),
    ("find . -name '*.pyc' -delete", "find-delete", "low"),
    ("find . -name '*.pyc' | xargs rm", "xargs-rm", "low"),
    ("chmod -R u+w build", "mode-recursive", "low"),
    # find
    ("find / -name core -delete", "find-delete", "high"),
    ("find . -delete", "find-delete", "high"),
    ("find . -exec rm -rf {} \\;", "find-delete", "high"),
    ("find . -execdir sh -c 'rm -rf /x' \\;", "rm-recursive", "high"),
    # git
    ("git clean -fdx", "git-clean", "high"),
    ("git clean -d --force", "git-clean", "high"),
    ("git -C /x clean -fX", "git-clean", "high"),
    ("git reset --hard HEAD~3", "git-reset-hard", "high"),
    ("git reset HEAD --hard", "git-reset-hard", "high"),
    ("git push --force origin main", "git-force-push", "high"),
    ("git push -f", "git-force-push", "high"),
    ("git push origin +main", "git-force-push", "high"),
    ("git push origin :old", "git-force-push", "high"),
    ("git push origin --delete old", "git-force-push", "high"),
    ("git push --force-with-lease", "git-force-push", "low"),
    ("git checkout -- .", "git-discard", "high"),
    ("git checkout .", "git-discard", "high"),
    ("git checkout -f main", "git-discard", "high"),
    ("git restore .", "git-discard", "high"),
    ("git branch -D topic", "git-branch-delete", "high"),
    ("git branch --delete --force topic", "git-branch-delete", "high"),
    ("git stash drop", "git-stash-drop", "high"),
    ("git worktree remove --force ../w", "git-worktree-remove", "high"),
    ("git reflog expire --expire=now --all", "git-forget", "high"),
    # disks, programs, services
    ("dd if=/dev/zero of=/dev/sda bs=1M", "disk", "high"),
    ("mkfs.ext4 /dev/sdb1", "disk", "high"),
    ("shred -u secrets", "disk", "high"),
    ("cat image > /dev/nvme0n1", "device-write", "high"),
    ("python3 -c 'import shutil; shutil.rmtree(\"/x\")'", "code-delete", "high"),
    ("python3.12 - <<EOF\nimport shutil\nshutil.rmtree('x')\nEOF", "code-delete", "high"),
    ("python -c \"import os; os.system('rm -rf /x')\"", "rm-recursive", "high"),
    ('node -e \'require("fs").rmSync("x", {recursive: true})\'', "code-delete", "high"),
    ("docker system prune -af", "containers", "high"),
    ("docker volume rm data", "containers", "high"),
    ("docker compose down -v", "containers", "high"),
    ("kubectl -n prod delete pod web", "cluster", "high"),
    ("terraform destroy -auto-approve", "infrastructure", "high"),
    ("aws s3 rm s3://bucket --recursive", "cloud", "high"),
    ("aws ec2 terminate-instances --instance-ids i-1", "cloud", "high"),
    ("gh repo delete me/it --yes", "hosting", "high"),
    ("psql -c 'DROP TABLE users'", "database", "high"),
    ("sqlite3 a.db 'delete from users;'", "database", "high"),
    ("redis-cli FLUSHALL", "database", "high"),
    ("chmod -R 777 /", "mode-recursive", "high"),
    ("chown --recursive me ~", "mode-recursive", "high"),
    ("rsync -a --delete a/ host:/b/", "sync-delete", "high"),
    ("pkill -f node", "kill-by-name", "high"),
    ("kill -9 -1", "kill-all", "high"),
    ("crontab -r", "crontab", "high"),
    ("sudo reboot", "machine", "high"),
    (":(){ :|:& };:", "fork-bomb", "high"),
]

#: Everyday commands, and texts that only speak of others.
HONEST = [
    "rm build/a.o",
    "rm -f a.txt b.txt",
    "rmdir empty",
    "git checkout main",
    "git checkout -b topic",
    "git checkout -- src/a.py",
    "git restore --staged .",
    "git clean -nd",
    "git reset --soft HEAD~1",
    "git push origin main",
    "git push -u origin HEAD",
    "git branch -d merged",
    "git stash",
    "git stash pop",
    "git commit -m 'rm -rf was here'",
    "git log --oneline -- .",
    "echo 'rm -rf /'",
    "grep -rn 'rm -rf' .",
    "cat > script.sh <<'EOF'\nrm -rf /\nEOF",
    "# rm -rf /",
    "ls # rm -rf /",
    "find . -name '*.py'",
    "find . -name '*.py' -exec grep -l x {} +",
    "ls | xargs wc -l",
    "chmod +x run.sh",
    "dd if=a of=b",
    "docker ps",
    "docker run --rm -it image",
    "kubectl get pods",
    "terraform plan",
    "python3 -c 'print(1)'",
    "python3 -m pytest -q",
    "npm install",
    "npm run clean",
    "psql -c 'select 1'",
    "sqlite3 a.db 'delete from users where id = 1;'",
    "kill 123",
    "kill -9 123",
    "rsync -a a/ b/",
    "bash script.sh",
    "rg --files | head",
    "make clean",
    "sed -i 's/a/b/' f",
    "mv a b",
    "cp -r a b",
    "bd close fleet-abc --reason 'removed rm -rf'",
    "echo $((1 + 2))",
    "",
    "'",
    '"$(',
    "<<",
]


@pytest.mark.parametrize(("text", "rule", "grade"), MET)
def test_it_meets_what_destroys(text, rule, grade):
    """By its words, however they are quoted, ordered or passed on."""
    assert (rule, grade) in [(trip.rule, trip.grade) for trip in trips(text, CWD)]


@pytest.mark.parametrize("text", HONEST)
def test_it_leaves_honest_commands_alone(text):
    """No alarm for what only sounds alike."""
    assert trips(text, CWD) == []


@given(st.text(alphabet="rmf -/'\"`$(){}<>|&;\\\n#ab*~=", max_size=60))
def test_no_text_breaks_it(text):
    """An agent may write anything, half a line too."""
    for trip in trips(text, CWD):
        assert trip.rule
        assert trip.grade in ("low", "high")


def test_what_is_far_too_deep_or_long_is_cut():
    """It takes its time in bounds."""
    assert list(commands("$(" * 5000 + "rm -rf /")) is not None
    assert len(trips("rm -rf /x\n" * 100_000, CWD)) <= 20


def test_a_trip_tells_what_would_happen():
    """For the person who reads it in the morning."""
    (trip,) = trips("cd / && rm -rf var", CWD)
    assert trip.what == "deletes var with all below"
    assert trip.command == "rm -rf var"


@pytest.mark.parametrize(("text", "rule", "grade"), MET)
def test_the_first_look_lets_nothing_past_that_a_rule_meets(text, rule, grade):
    """The hook asks for the rules only where one of these letters stands."""
    asked = json.dumps({"command": text})
    assert any(hint in asked for hint in HINTS)


def test_a_refusal_is_what_the_hooks_of_the_clis_understand():
    """The rule and what it would do are told; what is low, and what is no command, passes."""
    question = {"tool_name": "Bash", "tool_input": {"command": "rm -rf /x; ls"}, "cwd": CWD}
    said = json.loads(answer(json.dumps(question)))["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")
    assert (
        "`rm -rf /x` deletes /x with all below (rm-recursive)" in said["permissionDecisionReason"]
    )
    for harmless in ({"command": "rm -rf build"}, {"command": 3}, {"file_path": "rm -rf /"}):
        assert answer(json.dumps(question | {"tool_input": harmless})) == ""


@pytest.mark.parametrize(
    ("line", "outside"),
    [
        ("rm -rf ../other", True),
        ("rm -rf /tmp/x", True),
        ('while read f; do rm -rf "$f"; done', True),
        ("find / -name core -delete", True),
        ("git push --force", True),
        ("dropdb prod", True),
        ("chmod -R 777 /srv", True),
        ("rm -rf .", False),
        ("rm -rf .git", False),
        ("find . -delete", False),
        ("git reset --hard", False),
        ("rm -rf /notes/x $FLEET_ARTIFACT_DIR/y", False),
    ],
)
def test_what_is_outside_of_the_project_is_told_apart(line, outside):
    """A task's own directory is thrown away with it; what lies elsewhere is somebody's."""
    (trip,) = trips(line, "/srv/app", "/notes")
    assert trip.outside is outside
