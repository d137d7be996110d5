"""Files that an agent could have touched are opened in one place each, over the whole source."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/fleet"
#: Ways to open or write a file that follow links, wait for pipes, or read without a bound.
BARE = (
    "open",
    "fdopen",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "touch",
    "copyfile",
    "copy2",
    "copytree",
    "copystat",
    "copymode",
    "extractall",
    "truncate",
    "utime",
    "chown",
)

#: Where a bare way is used on purpose, with the reason.
ALLOWED = {
    "files/agent_place.py": "the door to places that agents can write to",
    "settlement/session_files.py": "a state directory, and a file of such a place",
    "files/tail.py": "a file of such a place",
    "files/atomic_write.py": "the place for writing: a fresh name, with O_EXCL and O_NOFOLLOW",
    "files/overwrite.py": "the place for writing over a part, with the same flags as safe_read",
    "files/put_aside.py": "the place for opening a file to write, with the flags of safe_read",
    "files/safe_read.py": "the place for reading",
    "files/lenient_read.py": "files of people and of CLIs: follows links, waits for nothing",
    "runs/event_log.py": "opened to read and to cut, with the flags of safe_read",
    "runs/run_directory.py": "new files in a new directory, with O_EXCL and the flags of safe_read",
    "supervisor/shortage.py": "one file of the home itself, with O_EXCL",
    "home/messages.py": "a fresh number with O_EXCL; the marks of messages hold nothing",
    "files/seals.py": "one empty file with O_EXCL",
    "processes/keeper.py": "imports nothing of fleet: it has `open_plain` and `put` of its own",
    "processes/keeper_client.py": "the keeper's byte code, in the installed package",
    "processes/own_distribution.py": "a file of the installed package",
    "processes/process_identity.py": "/proc",
    "control/edit_config.py": "runtime.toml, which is a person's",
    "control/hosts/add/add_host.py": "an archive in memory",
    "control/hosts/add/own_wheels.py": "files of the installed package",
    "control/hosts/add/setup_there.py": "runs on another machine, without fleet's modules",
    "control/hosts/add/ssh_call.py": "a program of the installed package",
    "control/init.py": "runtime.toml, which is a person's",
    "control/plan/write.py": "a template of the installed package",
    "control/queue/trust.py": "a file that a person names",
    "control/tasks/task_files.py": "a descriptor of safe_read",
    "supervisor/start/agent_bin.py": "programs of the installed package",
    # Rooms below: what is opened there is no place of an agent's, or a descriptor.
    "__main__.py": "/dev/null",
    "bd/actor.py": "git's settings of a person, read by the command that the person runs",
    "bd/arguments/values.py": "`Call.read_file`: a file that a person's own line names",
    "bd/beads_create.py": "a file that a person's own line names",
    "bd/beads_forward.py": "a pipe of its own",
    "bd/command_line.py": "a file that a person's own line names; an agent's client sends contents",
    "bd/only_beads.py": "a file of the installed package",
    "bd/verbs/about.py": "files of the installed package",
    "bd/verbs/close.py": "`values.read_text`, above",
    "bd/verbs/create.py": "`values.read_text`, above",
    "bd/verbs/dep.py": "`values.read_text`, above",
    "bd/verbs/import_export.py": "files that a person's own line names",
    "cli/inspect/web.py": "a browser",
    "cli/setup/config.py": "runtime.toml, which is a person's",
    "coders/prompts.py": "templates of the installed package",
    "coders/toml/__init__.py": "a coder's file in the home, which a person trusted",
    "config/runtime_toml.py": "runtime.toml, which is a person's",
    "demo/demo_home.py": "a demonstration in a directory of its own",
    "demo/hub.py": "a demonstration in a directory of its own",
    "demo/simulated_agent.py": "an agent's program",
    "doctor/check_machine.py": "/proc",
    "git/checkout/fresh_checkout.py": "a checkout that is being made, before any command",
    "git/checkout/shared_paths.py": "a clone that is being made, before its agent",
    "git/checkout/spare_checkout.py": "a git directory that fleet has just made anew",
    "git/clone/collect_work.py": "a git directory of fleet's own",
    "git/clone/source_facts.py": "a git directory of fleet's own",
    "git/clone/taken_commits.py": "a git directory of fleet's own",
    "git/land/begin_merge.py": "reads a git directory of fleet's own, and `AgentPlace` writes",
    "git/land/fast_forward.py": "a checkout of the operator's, in which no living box can write",
    "git/land/held_index.py": "fleet's own directory in a checkout of the operator's",
    "git/land/land_repository.py": "a file in the operator's repository, with O_NOFOLLOW",
    "git/own/fresh_git_dir.py": "a git directory of fleet's own",
    "git/tree_difference.py": "a fresh name in a run's directory, with O_EXCL and O_NOFOLLOW",
    "git/tree_snapshot.py": "copies of fleet's own; the index of a tree comes by `copy_out`",
    "landing/remote/pull_requests.py": "a pull request",
    "queue/beads/bd_cli/bd_issue.py": "a temporary file of its own",
    "queue/beads/change_watch.py": "bd's database in the home",
    "queue/beads/write_lock.py": "a lock in the home",
    "queue/doorbell.py": "a pipe in the home",
    "queue/sql/migrate.py": "a file of the installed package",
    "queue/sql/named_sql.py": "files of the installed package",
    "queue/sql/postgres/role_rights.py": "a file of the installed package",
    "queue/sql/travel/run_files.py": "files of the embedded queue in the home",
    "queue/sqlite_files.py": "the queue's own files in the home",
    "sandbox/network_holder.py": "/proc, and a file that fleet names",
    "sandbox/try_box.py": "a box of its own that is tried",
    "spool/agent_mcp/tool_server.py": "the agent's own process",
    "spool/client.py": "the agent's own process",
    "spool/drop_box.py": "names below the descriptor of the drop box, with O_NOFOLLOW",
    "spool/post_messages.py": "names below the descriptor of the drop box, with O_EXCL",
    "travel/add_lines.py": "lines for a record, in a directory that only fleet writes",
    "travel/pack_run.py": "a descriptor of safe_read",
    "travel/send_later.py": "lines for other hosts, in a directory that only fleet writes",
    "travel/unpack_run.py": "a run's directory that is being made",
}


def bare_calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", None) or getattr(function, "id", None)
            if name in BARE:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)[:60]}"


@cache
def found():
    calls = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if lines := list(bare_calls(path)):
            calls[str(path.relative_to(SOURCE))] = lines
    return calls


def test_records_are_opened_in_one_place():
    """A new bare `open` on a file that an agent could have replaced would hang or be led astray."""
    unexpected = [line for name, lines in found().items() if name not in ALLOWED for line in lines]
    assert unexpected == []


def test_each_exception_is_still_needed():
    """An entry that stands for nothing would hide the next one."""
    assert sorted(set(ALLOWED) - set(found())) == []
