"""Whatever an agent does in its clone: what was verified lands, with all that was committed."""

import os
import shutil

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.git.clone.task_refs import task_refs
from fleet.git.clone.task_work import brought_commit
from fleet.git.run_baseline import changes_since, record_base
from fleet.git.snapshot_names import INDEX
from fleet.home import Home
from fleet.runs.run_directory import Run
from tests.clones import TASK, clone_of, git
from tests.conftest import often
from tests.repos import Repo

#: Ordinary files, such as look like secrets, ignored ones, and names that can be a directory too.
NAMES = ("a", "a/b", "src/x.py", ".env", "keys/id_rsa", "server.pem", "run.log", "d/é \n", "old")
CONTENTS = st.sampled_from(["one\n", "two\n", "", "#!/bin/sh\n"])
NAME = st.sampled_from(NAMES)
STEPS = st.one_of(
    st.tuples(st.just("write"), NAME, CONTENTS),
    st.tuples(st.just("remove"), NAME),
    st.tuples(st.just("link"), NAME, st.sampled_from(["src", "/etc/passwd", "nowhere"])),
    st.tuples(st.just("mode"), NAME),
    st.tuples(st.just("add"), st.booleans()),
    st.tuples(st.just("untrack"), NAME),
    st.tuples(st.just("gitlink"), st.sampled_from(["part", "d/part"]), st.sampled_from("12")),
    st.tuples(st.just("commit"), st.booleans()),
    st.tuples(st.just("hide"), NAME, st.sampled_from(["--assume-unchanged", "--skip-worktree"])),
    st.tuples(st.just("reset")),
)


def play(place, step):
    """One thing that an agent does; what cannot be done is not done."""
    what, *with_ = step
    path = place / with_[0] if what in ("write", "remove", "link", "mode") else None
    try:
        match what:
            case "write" | "link":
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                path.unlink(missing_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(with_[1]) if what == "link" else path.write_text(with_[1])
            case "remove":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case "mode":
                if not path.is_symlink():  # root would change what the link points at
                    path.chmod(path.stat().st_mode ^ 0o111)
            case "add":
                git(place, "add", "-A", *(["-f"] if with_[0] else []))
            case "untrack":
                git(place, "rm", "-q", "-r", "--cached", with_[0])
            case "gitlink":
                entry = f"160000,{with_[1] * 40},{with_[0]}"
                git(place, "update-index", "--add", "--cacheinfo", entry)
            case "commit":
                git(place, "commit", "-qm", "work", *(["--amend"] if with_[0] else []))
            case "hide":
                git(place, "update-index", with_[1], with_[0])
            case _:
                git(place, "reset", "-q")
    except (OSError, AssertionError):
        pass


def entries(ask, commit):
    """The files of a commit: mode and object by name."""
    rows = ask("ls-tree", "-r", "-z", commit).split("\0")
    return {row.partition("\t")[2]: row.partition("\t")[0] for row in rows if row}


@settings(max_examples=often(10, 200), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=14))
def test_what_was_verified_lands_with_all_that_was_committed(tmp_path_factory, steps):
    """`tree(landed) == tree(verified)`, and each path of the agent's last commit is in it."""
    root = tmp_path_factory.mktemp("work")
    repo, home = Repo(root / "project"), Home(root / "home")
    home.tasks.mkdir(parents=True)
    base = repo.commit(_dot_gitignore="*.log\n", old="old\n", src__x_dot_py="x\n")
    place = clone_of(home, repo)
    run = Run(home.task(TASK) / "runs/1")
    run.path.mkdir(parents=True)
    found = record_base(str(place), f"{TASK}/1", home=home.path, keep=home.task(TASK) / INDEX)
    for step in steps:
        play(place, step)
    head = git(place, "rev-parse", "HEAD")
    verified = changes_since(found, run).tree
    commit = brought_commit(home, task_refs(home, TASK), title="the title", tree=verified)
    assert repo.git("rev-parse", f"{commit}^{{tree}}") == verified
    assert commit == head or repo.git("rev-parse", f"{commit}^") == head
    landed = entries(repo.git, commit)
    if head != base:
        committed = entries(lambda *words: git(place, *words), head)
        assert committed.keys() <= landed.keys()
        links = {name: entry for name, entry in committed.items() if entry.startswith("160000")}
        assert links.items() <= landed.items()
    for name in landed:
        path = place / name
        if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
            text = repo.git("cat-file", "blob", f"{commit}:{name}") if "\n" not in name else None
            assert text is None or text == path.read_text().rstrip("\n")
