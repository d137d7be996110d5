"""docs/coders.md says what the coders do."""

import re
from pathlib import Path

import msgspec
import pytest

from fleet import coders
from fleet.coders import toml
from fleet.coders.base import Options
from fleet.schemas import Failed, Reason
from tests.builders import a_task, trust_coders

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "coders.md").read_text(encoding="utf-8")
TASK_DIR = Path("/h/tasks/fleet-abc")


def row(title, under):
    table = PAGE.split(under)[1]
    [line] = [line for line in table.splitlines() if line.startswith(f"| `{title}` |")][:1]
    return [cell.strip().strip("`") for cell in line.split("|")[2:-1]]


@pytest.mark.parametrize("name", ["claude", "codex", "agy"])
def test_the_permissions_of_the_page_are_those_of_the_command(name):
    """Users decide by this table what an agent may do."""
    for permissions, flags in zip(
        ("edit", "auto", "bypass"), row(name, "## Permissions"), strict=True
    ):
        coder = coders.make(name, options=Options(permissions=permissions))
        assert flags in " ".join(coder.build_argv(a_task(), TASK_DIR))


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_logins_of_the_page_are_those_that_pass(name):
    """Each variable that passes is named, and no other."""
    login, passes = row(name, "## What an agent sees")
    coder = coders.make(name)
    assert tuple(re.findall(r"[A-Z_]{4,}", login)) == coder.credentials
    assert tuple(re.findall(r"[A-Z_]{4,}", passes)) == coder.passes


def test_every_reason_of_a_failure_is_on_the_page():
    """A person who sees one can look it up."""
    other = {"rate_limit", "overloaded", "api_error", "prompt_too_long", "max_turns", "budget"}
    told = set(row_of_failed())
    assert told == set(Reason.__args__) - other
    for reason in told:
        assert Failed(reason=reason)


def row_of_failed():
    [line] = [line for line in PAGE.splitlines() if line.startswith("| Failed |")]
    return re.findall(r"`(\w+)`", line)


def test_the_coders_of_the_page_can_be_used(tmp_path):
    """Pasted as they stand, each by its own way."""
    (tmp_path / "coders").mkdir()
    blocks = dict(re.findall(r"```(toml|python)\n(.*?)```", PAGE, re.DOTALL)[::-1])
    (tmp_path / "coders" / "mycoder.py").write_text(blocks["python"], encoding="utf-8")
    (tmp_path / "coders" / "mycli.toml").write_text(blocks["toml"], encoding="utf-8")
    trust_coders(tmp_path)
    assert coders.problems(tmp_path) == {}
    argv = coders.make("mycli", "m", home=tmp_path).build_argv(a_task(), TASK_DIR)
    assert argv[:4] == ["mycli", "--json", "--model", "m"]
    assert coders.make("mycoder", home=tmp_path).build_argv(a_task(), TASK_DIR)[0] == "mycli"


def test_the_files_that_the_page_offers_are_there():
    """And every file that is there is offered."""
    offered = re.findall(r"\]\(coders/(\w+)\.toml\)", PAGE)
    assert sorted(offered) == sorted(path.stem for path in (DOCS / "coders").glob("*.toml"))
    for name in offered:
        assert toml.load(DOCS / "coders" / f"{name}.toml").name == name


def test_every_path_of_a_rule_is_on_the_page():
    """A field that is not on the page might as well not exist."""
    from fleet.coders.toml.event_rules import EventRule

    for part in msgspec.structs.fields(EventRule):
        assert f"`{part.name}`" in PAGE or part.name == "tokens_of"
