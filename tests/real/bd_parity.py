r"""The same command lines against the real bd and against fleet's own answers, compared.

What bd said to every line is kept in `bd_answers`, so that each test run compares all of them; bd
itself is asked a few, and all with FLEET_SLOW=1. `python -m tests.real.record` writes them anew.

A script is a list of lines, each a bd command line without the word `bd`:

    a=create "First" --silent      what it printed is the id {a} from here on
    A=1 list --json                with an environment variable
    create x --stdin <<<text\n      with standard input
    ~ close nope                   a variant of what another line asks: only with FLEET_SLOW=1

Of every line the exit code is compared, and every JSON value on standard output but those of
errors: texts are fleet's own. Ids, moments and what only looks alike (revisions) are made equal
first.
"""

import difflib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from fleet.bd.command_line import answer
from fleet.queue.sql import dependencies
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas import Dependency, Task
from tests.conftest import SLOW

ACTOR = "alice"
#: What git is told of whoever asks.
SOMEBODY = "[user]\n\tname = Alice\n\temail = alice@example.com\n[beads]\n\trole = maintainer\n"
ANSWERS = Path(__file__).with_name("bd_answers")
#: What `create --file` and `create --graph` are given.
PLANS = Path(__file__).with_name("bd_plans")
_NEW_ID = re.compile(r"\bfleet-[0-9a-z]{3,8}\b")

_LINE = re.compile(r"(?:(?P<name>[a-z]\w*)=)?(?P<rest>.*)", re.DOTALL)
_MOMENTS = (
    (re.compile(r"(?!0001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<moment>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "<minute>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
)
#: Values that each side makes up in its own way; that they are there is what counts.
_OWN_WORDS = ("revision", "hint")
#: Bd orders a task's edges by a hash of them.
_UNORDERED = ("dependencies", "dependents", "blocked_by")
#: Keys that fleet adds: later releases of bd have them.
_EXTRA = ("claim_fence",)


class Script(msgspec.Struct, frozen=True):
    """Lines to answer in order, on a queue that has these issues in the shape of an export."""

    lines: Sequence[str]
    seed: Sequence[Mapping[str, Any]] = ()


class Line(msgspec.Struct, frozen=True):
    """One line of a script, read."""

    argv: Sequence[str]
    name: str = ""
    stdin: str = ""
    env: Mapping[str, str] = {}


class Answer(msgspec.Struct, frozen=True):
    """What one side did with a line."""

    code: int
    out: str
    err: str


class Kept(msgspec.Struct, frozen=True):
    """A line and what bd said to it."""

    line: str
    answer: Answer


class Side:
    """One of the two that answer. `known` are the ids that it gave, by the script's names, and the
    plans that both read.
    """

    def __init__(self) -> None:
        self.known = {"markdown": str(PLANS / "plan.md"), "json": str(PLANS / "plan.json")}

    def run(self, text: str) -> Answer:
        line = read(text, self.known)
        found = self.ask(line)
        if line.name:
            self.known[line.name] = found.out.strip()
        return found

    def says(self, text: str) -> Answer:
        """The answer to a line, made comparable to that of the other side."""
        found = self.run(text)
        out, err = (_alike(channel, self.known) for channel in (found.out, found.err))
        if "create --file" in text or "create --graph" in text:  # each side makes ids of its own
            out = _NEW_ID.sub("<id>", out)
        return Answer(found.code, out, err)

    def ask(self, line: Line) -> Answer:
        raise NotImplementedError


class RealBd(Side):
    """The program, in a home of its own."""

    def __init__(self, program: str, home: Path) -> None:
        super().__init__()
        self._program = program
        self._home = home

    def ask(self, line: Line) -> Answer:
        done = subprocess.run(
            [self._program, *line.argv],
            env={**environment(self._home), **line.env},
            cwd=self._home,
            input=line.stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def seed(self, issues: Sequence[Mapping[str, Any]]) -> None:
        if issues:
            text = "\n".join(json.dumps(issue) for issue in issues)
            (self._home / "seed.jsonl").write_text(text)
            assert self.ask(Line(["import", "seed.jsonl"])).code == 0


class OurBd(Side):
    """Fleet's own answers, on a queue."""

    def __init__(self, queue: SqlQueue, home: Path) -> None:
        super().__init__()
        self._queue = queue
        self._env = environment(home)

    def ask(self, line: Line) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        code = answer(
            line.argv,
            self._queue,
            env={**self._env, **line.env},
            out=out,
            err=err,
            stdin=io.StringIO(line.stdin),
        )
        return Answer(code, out.getvalue(), err.getvalue())

    def seed(self, issues: Sequence[Mapping[str, Any]]) -> None:
        with self._queue.db.writing():
            for issue in issues:
                fields = {k: v for k, v in issue.items() if k != "dependencies"}
                self._queue.insert(msgspec.convert(fields, Task))
            for edge in (edge for issue in issues for edge in issue.get("dependencies", ())):
                named = {k: v for k, v in edge.items() if k != "issue_id"}
                made = msgspec.convert({**named, "task_id": edge["issue_id"]}, Dependency)
                dependencies.depend(self._queue, made)


def environment(home: Path) -> dict[str, str]:
    """What both sides see: a home with a git identity, and no questions."""
    return {
        **{name: os.environ[name] for name in ("PATH", "GOGC", "GOMEMLIMIT")},
        "HOME": str(home),
        "USER": "somebody",
        "BEADS_DIR": str(home / ".beads"),
        "BEADS_ACTOR": ACTOR,
        "BD_NON_INTERACTIVE": "1",
        "BD_DISABLE_METRICS": "1",
        "BD_NO_PARTIAL_ID_NOTICE": "1",
        "DOLT_DISABLE_EVENT_FLUSH": "1",
    }


def make_home(pristine: Path, home: Path) -> Path:
    """A home with an empty bd database, and somebody to be in it; copy it for each script."""
    shutil.copytree(pristine, home)
    (home / ".gitconfig").write_text(SOMEBODY)
    return home


def read(text: str, known: Mapping[str, str]) -> Line:
    text, _, stdin = text.partition("<<<")
    found = _LINE.fullmatch(text)
    assert found
    rest = found["rest"]
    for name, task_id in known.items():
        rest = rest.replace(f"{{{name}}}", task_id)
    argv = shlex.split(rest)
    env: dict[str, str] = {}
    while argv and re.match(r"[A-Z_]+=", argv[0]):
        key, _, value = argv.pop(0).partition("=")
        env[key] = value
    return Line(
        argv,
        name=found["name"] or "",
        stdin=stdin.encode().decode("unicode_escape"),
        env=env,
    )


def every_line(script: Script) -> list[str]:
    return [line.removeprefix("~ ") for line in script.lines]


def asked(script: Script) -> list[str]:
    """The lines that bd is asked now: it takes a third of a second of processor for each."""
    if SLOW:
        return every_line(script)
    return [line for line in script.lines if line[:2] != "~ "]


def kept(name: str) -> list[Kept]:
    """What bd once said to each line of a script."""
    return msgspec.json.decode((ANSWERS / f"{name}.json").read_bytes(), type=list[Kept])


def keep(name: str, lines: Sequence[str], answers: Sequence[Answer]) -> None:
    rows = [Kept(line, answer) for line, answer in zip(lines, answers, strict=True)]
    text = msgspec.json.format(msgspec.json.encode(rows), indent=1)
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{name}.json").write_bytes(text + b"\n")


def of_bd(
    template: Path, program: str, place: Path, script: Script, lines: Sequence[str]
) -> list[Answer]:
    """What the real bd says to these lines, in a copy of a home."""
    home = place / "bd"
    shutil.copytree(template, home)
    theirs = RealBd(program, home)
    theirs.seed(script.seed)
    return [theirs.says(line) for line in lines]


def of_fleet(place: Path, script: Script, lines: Sequence[str]) -> list[Answer]:
    """What fleet says to them, on a queue of its own."""
    ours = place / "fleet"
    ours.mkdir(parents=True)
    (ours / ".gitconfig").write_text(SOMEBODY)
    with closing(open_embedded(ours)) as queue:
        own = OurBd(queue, ours)
        own.seed(script.seed)
        return [own.says(line) for line in lines]


def differences(
    lines: Sequence[str], theirs: Sequence[Answer], own: Sequence[Answer]
) -> dict[str, str]:
    """The lines that the two answer differently, and how."""
    return {
        line: how
        for line, bd, fleet in zip(lines, theirs, own, strict=True)
        if (how := _difference(line, bd, fleet))
    }


def _difference(text: str, bd: Answer, fleet: Answer) -> str:
    if bd.code != fleet.code:
        return f"exit code: bd {bd.code}, fleet {fleet.code}\n{bd}\n{fleet}"
    wanted = "--json" in read(text, {}).argv and not (
        bd.code and not isinstance(_parsed(bd.out), list)
    )
    if wanted and _parsed(bd.out) != _parsed(fleet.out):
        return f"JSON\n{_diff(_pretty(bd.out), _pretty(fleet.out))}"
    return ""


def _pretty(text: str) -> str:
    return json.dumps(_parsed(text), indent=1, sort_keys=True)


def _diff(bd: str, fleet: str) -> str:
    return "\n".join(
        difflib.unified_diff(bd.splitlines(), fleet.splitlines(), "bd", "fleet", "", "", 2, "")
    )


def _alike(text: str, known: Mapping[str, str]) -> str:
    """A text with the ids by their names in the script, and without the moment it was made."""
    for name, task_id in sorted(known.items(), key=lambda pair: -len(pair[1])):
        if task_id:
            text = text.replace(task_id, f"{{{name}}}")
    for pattern, word in _MOMENTS:
        text = pattern.sub(word, text)
    return text


def _parsed(text: str) -> Any:
    """The JSON of an answer; None if it is none."""
    try:
        return _made_equal(json.loads(text))
    except ValueError:
        return None


def _made_equal(value: Any) -> Any:
    if isinstance(value, list):
        return [_made_equal(item) for item in value]
    if isinstance(value, dict):
        return {key: _one(key, item) for key, item in value.items() if key not in _EXTRA}
    return value


def _one(key: str, value: Any) -> Any:
    if key in _OWN_WORDS:
        return f"<{key}>"
    if key in _UNORDERED and value:
        return sorted((_made_equal(item) for item in value), key=str)
    return _made_equal(value)
