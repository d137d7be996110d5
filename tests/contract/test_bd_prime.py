"""bd prime teaches commands that work here, and little else."""

import re
import shlex

import msgspec
import pytest

from fleet.bd import VERBS, find_verb, split_command
from fleet.bd.command import GLOBAL
from fleet.bd.pflag import parse


def commands(text):
    """Every `bd …` that stands in backticks, with words for its placeholders."""
    for line in re.findall(r"`(bd [^`]+)`", text):
        yield re.sub(r"<command>", "show", re.sub(r"<(?!command)\w+>", "fleet-a", line))


def test_every_command_that_prime_teaches_is_one(desk):
    """Each parses with the flags of its own verb."""
    taught = list(commands(desk.ok("prime --full")))
    assert len(taught) > 40
    for line in taught:
        name, rest = split_command(shlex.split(line)[1:])
        assert name in VERBS, line
        verb = find_verb(name)
        parse((*verb.flags, *GLOBAL), rest)


@pytest.mark.parametrize("flag", ["", "--full", "--mcp"])
def test_what_prime_teaches_can_be_done(desk, flag, tmp_path, monkeypatch):
    """Each command line of the text, run as it stands on a small queue, is no misuse."""
    monkeypatch.chdir(tmp_path)  # one of them writes a file
    desk.tasks("a", "other")
    desk.ok(["remember", "a thing", "--key", "key"])
    for line in commands(desk.ok(f"prime {flag}")):
        said = desk(shlex.split(line)[1:])
        assert "unknown" not in said.err, line
        assert "arg(s)" not in said.err, line
        assert "invalid" not in said.err, line


def test_prime_is_short(desk):
    """Tokens are paid on every run: a good three hundred words, four with everything."""
    assert len(desk.ok("prime").split()) < 260
    assert len(desk.ok("prime --full").split()) < 400
    assert len(desk.ok("prime --mcp").split()) < 30


def test_memories_come_along(desk):
    """At the end, up to the caps; alone, or not at all."""
    assert "Memories" not in desk.ok("prime")
    assert desk.ok("prime --memories-only") == "\n"
    for name in ("one", "two", "three"):
        desk.ok(["remember", f"text of {name}", "--key", name])
    text = desk.ok("prime")
    assert text.index("## Memories (3)") < text.index("### one\ntext of one\n")
    assert "text of" not in desk.ok("prime --no-memories")
    assert desk.ok("prime --memories-only").startswith("## Memories (3)\n")
    capped = desk.ok("prime --memories-only --max-memories 2")
    assert "1 more are not shown here" in capped
    assert "text of two" not in capped
    assert "text of one" in desk.ok("prime --memories-only --max-memory-chars 1")


def test_the_hook_gets_one_json_object(desk):
    """--hook-json wraps the same text for a session start."""
    said = msgspec.json.decode(desk.ok("prime --hook-json"))
    hook = said["hookSpecificOutput"]
    assert hook["hookEventName"] == "SessionStart"
    assert hook["additionalContext"].rstrip("\n") == desk.ok("prime").rstrip("\n")
    assert desk.ok("prime --stealth") == desk.ok("prime")
