"""What commits of fleet's say, and whom they name."""

import time

import pytest

from fleet.git import repository
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import (
    FLEET,
    Author,
    author_in,
    marked,
    merge_message_of,
    message_of,
    title_in,
)
from fleet.git.git_command import Git


@pytest.fixture
def person(tmp_path, monkeypatch):
    """A function that writes the user's own configuration of git."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)

    def write(text):
        (tmp_path / ".gitconfig").write_text(text)

    return write


ADA = "[user]\nname = Ada\nemail = ada@example.org\n"


def test_a_commit_bears_title_and_id_and_the_persons_name(repo, person):
    """`git log` reads as if the person had committed, and the trailer leads to the task."""
    person(ADA)
    first = repo.commit(a="1\n")
    found = repository.find(str(repo.root))
    git = Git(found, time.monotonic() + 30)
    made = write_commit(
        git, repo.git("rev-parse", f"{first}^{{tree}}"), first,
        message=message_of("Add\tthe parser\nnow", "fleet-1"), author=author_in(found),
    )  # fmt: skip
    shown = "%s|%an <%ae>|%cn <%ce>|%(trailers:key=Fleet-Task,valueonly)|%P"
    who = "Ada <ada@example.org>"
    said = repo.git("log", "-1", f"--format={shown}", made).replace("\n", "")
    assert said == f"Add the parser now|{who}|{who}|fleet-1|{first}"


def test_the_projects_own_name_counts_more_than_the_users(repo, person):
    """As for git itself; a change of either is noticed."""
    person(ADA)
    found = repository.find(str(repo.root))
    assert author_in(found) == Author(name="Ada", email="ada@example.org")
    repo.git("config", "user.name", "Ada at work")
    assert author_in(found) == Author(name="Ada at work", email="ada@example.org")
    assert author_in(None).name == "Ada"
    person(ADA.replace("ada@", "a@"))
    assert author_in(found).email == "a@example.org"


def test_without_a_name_it_is_fleets(repo, person):
    """A machine where no person ever used git."""
    person("")
    assert author_in(repository.find(str(repo.root))) == FLEET
    person("[user\n")  # damaged: git refuses to read it
    assert author_in(repository.find(str(repo.root))) == FLEET


@pytest.mark.parametrize("name", ["<>", " . ", "\n", '"'])
def test_a_name_that_git_refuses_is_none(name):
    """Else each commit would fail."""
    assert Author.plain(name, "ada@example.org").name == FLEET.name


@pytest.mark.parametrize("name", ["Ada <root>", "Ada\nLovelace", 'Dr. "Ada"', "Adä"])
def test_any_other_name_is_taken_by_git(repo, name):
    """Whatever stands in a configuration."""
    first = repo.commit(a="1\n")
    git = Git(repository.find(str(repo.root)), time.monotonic() + 30)
    author = Author.plain(name, "a b@<example>")
    made = write_commit(git, repo.git("rev-parse", f"{first}^{{tree}}"), message="m", author=author)
    assert repo.git("log", "-1", "--format=%an", made) == author.name


def test_a_title_cannot_forge_a_trailer():
    """A title of several lines is one line, and a long one is cut."""
    forged = message_of("Mend it\n\nFleet-Task: fleet-9\nReviewed-by: Ada", "fleet-1")
    assert forged.splitlines()[1:] == ["", "Fleet-Task: fleet-1"]
    assert len(message_of("x" * 5000, "fleet-1").splitlines()[0]) == 200
    assert message_of(" \x1b\n", "fleet-1").splitlines()[0] == "fleet-1"


def test_a_merge_names_its_task_beside_the_title():
    """Its subject is not that of the commit which it merges, and the title can be had from it."""
    assert merge_message_of("Add sub", "fleet-1") == "Add sub (fleet-1)\n\nFleet-Task: fleet-1\n"
    assert title_in("Add sub (fleet-1)", "fleet-1") == title_in("Add sub", "fleet-1") == "Add sub"
    assert len(merge_message_of("x" * 5000, "fleet-1").splitlines()[0]) == 200
    assert merge_message_of(" \x1b\n", "fleet-1").splitlines()[0] == "fleet-1"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"Add it\n", b"Add it\n\nFleet-Task: x\n"),
        (b"fix: it\n", b"fix: it\n\nFleet-Task: x\n"),
        (b"Add it\n\nSigned-off-by: me\n", b"Add it\n\nSigned-off-by: me\nFleet-Task: x\n"),
        (
            b"Add it\n\nSome words\nand: more\n",
            b"Add it\n\nSome words\nand: more\n\nFleet-Task: x\n",
        ),
        (b"Add it\n\nFleet-Task: x\n", b"Add it\n\nFleet-Task: x\n"),
    ],
)
def test_a_message_is_marked_once_and_with_the_other_trailers(message, said):
    """What is no trailer stays a paragraph of its own."""
    assert marked(message, "x") == said
