"""A person's line: what is carried out is what the audit is asked about, however it is typed."""

import click
import pytest

from fleet.cli import person_line
from fleet.cli.person_line import carry_out


@pytest.fixture
def recorded(monkeypatch):
    """The lines that are recorded, with their verbs; no command is carried out."""
    found = []
    monkeypatch.setattr(click.Command, "context_class", click.Context)
    monkeypatch.setattr(click.Context, "invoke", lambda *_, **__: 0)
    monkeypatch.setattr(
        person_line, "recorded", lambda verb, args, work: found.append((verb, args)) or work()
    )
    return found


@pytest.mark.parametrize(
    "line",
    [
        "answer x yes", "stop --all --now", "pause", "-- pause", "config set a=b", "land x",
        "land --all", "land --all --no-wait", "review x --approve", "review x --reject=no",
        "review x --reject --help", "review x --comment a.py:1 no", "plan approve x",
        "account add me --coder claude",
        "shutdown", "mcp install claude --write", "web pair", "web --port 2000 revoke 1f",
        "host drain box", "queue accept", "compare x --with codex", "compare x --with=codex",
        "run --detach", "run -d", "run -qd", "trust x", "land x --json", "tell x -- --help",
    ],
)  # fmt: skip
def test_what_changes_something_is_recorded(recorded, line):
    """Whatever the line looks like: click has read it, and its command acts."""
    assert carry_out(line.split()) == 0
    ((verb, typed),) = recorded
    assert verb == next(word for word in typed if word != "--")
    assert " ".join(typed) == line


@pytest.mark.parametrize(
    "line",
    [
        "status", "audit", "config show", "land", "land --check", "land x --check", "review x",
        "stop --help", "stop --all --help", "help pause", "mcp install claude", "mcp --operator",
        "run", "trust", "trust --json", "land --json", "web", "web sessions", "compare x",
        "service install --print", "stop --nonsense",
    ],
)  # fmt: skip
def test_what_looks_is_not_recorded(recorded, line, capsys):
    """It changes nothing."""
    carry_out(line.split())
    assert recorded == []
    capsys.readouterr()
