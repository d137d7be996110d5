"""What a project shares with its copies."""

import pytest

from fleet.git.checkout.shared_paths import exclude_lines, link_shared, share_with_clone, unshared
from tests.repos import Repo


def test_each_path_has_a_link_at_the_same_place(tmp_path):
    """Below the directory of the copy that corresponds to the project's."""
    project, copy = tmp_path / "project", tmp_path / "copy"
    for place in (project / ".venv", project / "web/node_modules", copy):
        place.mkdir(parents=True)
    made = link_shared(str(project), ("./.venv", "web/node_modules/"), str(copy))
    assert made == (".venv", "web/node_modules")
    assert (copy / "web/node_modules").readlink() == project / "web/node_modules"


def test_only_what_exists_and_is_not_there_is_linked(tmp_path):
    """And nothing behind a link that leads out of the copy."""
    project, copy, other = tmp_path / "project", tmp_path / "copy", tmp_path / "other"
    for place in (project / "lib", project / "out/lib", project / "kept", copy / "kept", other):
        place.mkdir(parents=True)
    (copy / "out").symlink_to(other)
    share = ("lib", "out/lib", "kept", "nowhere")
    assert link_shared(str(project), share, str(copy)) == ("lib",)
    assert (copy / "lib").readlink() == project / "lib"
    assert list(other.iterdir()) == []


def test_no_directory_is_made_behind_a_link_that_leads_out(tmp_path):
    """An agent that puts a link in the way has fleet make nothing elsewhere, a neighbour of the
    copy with a longer name included.
    """
    project, copy = tmp_path / "project", tmp_path / "copy"
    other, neighbour = tmp_path / "other", tmp_path / "copy2"
    for place in (project / "out/deep/lib", project / "near/lib", copy, other, neighbour):
        place.mkdir(parents=True)
    (copy / "out").symlink_to(other)
    (copy / "near").symlink_to(neighbour)
    assert link_shared(str(project), ("out/deep/lib", "near/lib"), str(copy)) == ()
    assert list(other.iterdir()) == list(neighbour.iterdir()) == []


def test_a_link_in_a_clone_is_no_new_file(tmp_path):
    """Even where the project's rule is for directories alone."""
    clone = Repo(tmp_path / "clone")
    clone.commit(_dot_gitignore=".venv/\n", app__x="1\n")
    (tmp_path / "project/app/.venv").mkdir(parents=True)
    project, share, where = str(tmp_path / "project/app"), (".venv",), str(clone.root / "app")
    shared = unshared(project, share, where, clone.root)
    assert shared == ("app/.venv",)
    share_with_clone(project, share, where, clone.root, shared)
    assert (clone.root / "app/.venv").is_symlink()
    assert clone.git("status", "--porcelain") == ""


def test_a_path_of_the_projects_own_commits_is_not_taken_for_a_link_of_fleets(tmp_path):
    """A link that git holds is the project's, even one to the same place."""
    project, clone = tmp_path / "project", Repo(tmp_path / "clone")
    (project / ".venv").mkdir(parents=True)
    (clone.root / ".venv").symlink_to(project / ".venv")
    clone.commit()
    assert unshared(str(project), (".venv",), str(clone.root), clone.root) == ()
    assert link_shared(str(project), (".venv",), str(clone.root)) == (".venv",)


@pytest.mark.parametrize("name", ["a[b]", "a*", "a?b", " lead", "tail ", "!x", "#x", "back\\slash"])
def test_git_takes_the_name_of_a_shared_path_as_it_is(tmp_path, name):
    """Whatever stands for other letters in a rule."""
    clone = Repo(tmp_path / "clone")
    clone.commit()
    (clone.root / ".git/info/exclude").write_bytes(exclude_lines((name,)))
    (clone.root / name).symlink_to("/nowhere")
    (clone.root / "ab").symlink_to("/nowhere")
    assert clone.git("status", "--porcelain") == "?? ab"
