"""bd prime teaches commands that work here, and little else."""

import re
import shlex

import msgspec
import pytest

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import VERBS, find_verb, split_command
from fleet.bd.pflag import parse


def commands(text):
    """Every `bd …` that stands in backticks, with words for its placeholders."""
    for line in re.findall(r"`(bd [^`]+)`", text):
        yield re.sub(r"<command>", "show", re.sub(r"<(?!command)\w+>", "fleet-a", line))


def test_every_command_that_prime_teaches_is_one(bd):
    """Each parses with the flags of its own verb."""
    taught = list(commands(bd.ok("prime --full")))
    assert len(taught) > 30
    for line in taught:
        name, rest = split_command(shlex.split(line)[1:])
        assert name in VERBS, line
        verb = find_verb(name)
        parse((*verb.flags, *GLOBAL), rest)


@pytest.mark.parametrize("flag", ["", "--full", "--mcp"])
def test_what_prime_teaches_can_be_done(bd, flag, tmp_path, monkeypatch):
    """Each command line of the text, run as it stands on a small queue, is no misuse."""
    monkeypatch.chdir(tmp_path)  # one of them writes a file
    bd.tasks("a", "other")
    bd.ok(["remember", "a thing", "--key", "key"])
    for line in commands(bd.ok(f"prime {flag}")):
        said = bd(shlex.split(line)[1:])
        assert "unknown" not in said.err, line
        assert "arg(s)" not in said.err, line
        assert "invalid" not in said.err, line


def test_prime_is_short(bd):
    """Tokens are paid on every run: a good three hundred words, four with everything."""
    assert len(bd.ok("prime").split()) < 260
    assert len(bd.ok("prime --full").split()) < 400
    assert len(bd.ok("prime --mcp").split()) < 30


def test_memories_come_along(bd):
    """At the end, alone, or not at all."""
    assert "Memories" not in bd.ok("prime")
    assert bd.ok("prime --memories-only") == ""
    for name in ("one", "two", "three"):
        bd.ok(["remember", f"text of {name}", "--key", name])
    text = bd.ok("prime")
    assert text.index("## Memories (3)") < text.index("### one\ntext of one\n")
    assert "text of" not in bd.ok("prime --no-memories")
    assert bd.ok("prime --memories-only").startswith("## Memories (3)\n")


def test_the_hook_gets_one_json_object(bd):
    """--hook-json wraps the same text for a session start."""
    said = msgspec.json.decode(bd.ok("prime --hook-json"))
    hook = said["hookSpecificOutput"]
    assert hook["hookEventName"] == "SessionStart"
    assert hook["additionalContext"].rstrip("\n") == bd.ok("prime").rstrip("\n")
    assert bd.ok("prime --stealth") == bd.ok("prime")
