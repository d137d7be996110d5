"""The rules of the tripwire: which commands of an agent destroy what cannot be brought back.

One pure function takes a line of shell and its directory, and returns what the line would destroy.
The function knows the words of the line only, so an agent that wants to can evade it.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from fleet.tripwire.shell_parser import Simple, commands, program, unwrapped

#: low: deletes much, but only inside the task's directory; such a command is recorded, never
#: refused. high: everything else.
Grade = Literal["low", "high"]

#: A text without any of these breaks no rule: a quick check before the full one.
HINTS = (
    "rm", "rimraf", "-delete", "clean", "--hard", "push", "checkout", "switch", "restore", "branch",
    "stash", "worktree", "update-ref", "reflog", "gc", "filter-", "ch", "/dev/", "mk", "wipefs",
    "fdisk", "gdisk", "parted", "blkdiscard", "shred", "diskutil", "remove", "prune", "down",
    "destroy", "delete", "drain", "uninstall", "s3", "terminate-", "purge", "rb", "DELETE",
    "unpublish", "drop", "DROP", "runcate", "RUNCATE", "flush", "FLUSH", "shutdown", "reboot",
    "halt", "poweroff", "kill", "crontab", "--del", ":|:", ": | :", "''", '\\"\\"',
)  # fmt: skip
_TEXT_CAP = 300
_MOST = 20
_WHOLE = frozenset({"", ".", "*", ".*", "**", "./*", "{*,.*}"})
_GLOB = re.compile(r"[*?\[{$]")
#: A variable in a path, an assignment, and the list of a loop.
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_ASSIGNED = re.compile(r"(?<![\w$])(\w+)=(\$\([^)]*\)|\"[^\"]*\"|'[^']*'|[^\s;&|()]*)")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]*)")
#: Stands for a directory that the command makes for itself.
_FRESH = "$(mktemp"
#: Values of a variable and paths that are looked at.
_MOST_VALUES = 50


class Trip(NamedTuple):
    """A command that breaks a rule."""

    rule: str
    grade: Grade
    #: What the command would do, in a few words.
    what: str
    command: str
    #: Something outside of the task's directory and its repository is destroyed.
    outside: bool = True


class _RunsIn(NamedTuple):
    """The task's directory, and the one a command runs in; None if only the shell knows that."""

    root: str
    cwd: str | None
    #: The values that the text gives to variables; none for one that it does not set.
    values: Mapping[str, tuple[str, ...]] = {}
    #: Another directory of the task, where its notes lie.
    own: str = ""


#: A rule's id, its grade, what the command would do, and whether it is outside.
Hit = tuple[str, Grade, str] | tuple[str, Grade, str, bool]
CommandRule = Callable[[Simple, _RunsIn], Iterator[Hit]]


def trips(text: str, cwd: str, own: str = "") -> list[Trip]:
    """The commands in a line of shell that destroy something, if run in this directory. `own` is
    another directory of the task's.
    """
    at = _RunsIn(cwd, cwd, _values(text, cwd, own), own)
    found: list[Trip] = []
    for simple in commands(text):
        at = _after_cd(simple.words, at)
        shown = " ".join(simple.words)[:_TEXT_CAP]
        for rule, grade, what, *rest in _hits(simple, at):
            local = rule.startswith("git-") and rule != "git-force-push"
            outside = bool(rest[0]) if rest else not local
            found.append(Trip(rule, grade, what, shown, outside))
    if re.search(r":\s*\(\)\s*\{[^}]*:\s*\|\s*:", text):
        found.append(Trip("fork-bomb", "high", "starts processes without end", text[:_TEXT_CAP]))
    return list(dict.fromkeys(found))[:_MOST]


def _hits(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    for target in simple.writes:
        if re.match(r"/dev/(sd|hd|vd|xvd|nvme|disk|mmcblk)", target):
            yield "device-write", "high", f"writes over the disk {target}"
    if not simple.words:
        return
    name = program(simple.words[0])
    rule = _RULES.get(name) or (_RULES["mkfs"] if name.startswith("mkfs.") else None)
    if rule is None and re.fullmatch(r"(python|pypy)[\d.]*", name):
        rule = _interpreter
    if rule is not None:
        yield from rule(simple, at)


def _each(words: tuple[str, ...], at: _RunsIn) -> Iterator[Hit]:
    """The rules that a command breaks which another command runs."""
    for inner in unwrapped(Simple(words)):
        yield from _hits(inner, at)


def _after_cd(words: tuple[str, ...], at: _RunsIn) -> _RunsIn:
    if words[:1] not in (("cd",), ("pushd",)):
        return at
    place = next((word for word in words[1:] if not word.startswith("-")), "~")
    if at.cwd is None or place.startswith("~") or "$" in place:
        known = place if place.startswith("/") and "$" not in place else None
        return at._replace(cwd=known)
    return at._replace(cwd=posixpath.normpath(posixpath.join(at.cwd, place)))


# Paths.


def _values(text: str, cwd: str, own: str) -> dict[str, tuple[str, ...]]:
    """The values that a text gives to its variables, by assignment and as lists of loops."""
    found: dict[str, list[str]] = {"PWD": [cwd]}
    if own:
        found["FLEET_ARTIFACT_DIR"] = [own]
    for name, value in _ASSIGNED.findall(text):
        found.setdefault(name, []).append(value.strip("\"'"))
    for name, words in _LOOP.findall(text):
        found.setdefault(name, []).extend(word.strip("\"'") for word in words.split())
    return {name: tuple(values[:_MOST_VALUES]) for name, values in found.items()}


def _expanded(path: str, at: _RunsIn, depth: int = 3) -> list[str] | None:
    """The paths that a path with variables may be; None: the text does not tell."""
    name = _VARIABLE.search(path)
    if name is None:
        return None if "$" in path and not path.startswith(_FRESH) else [path]
    values = at.values.get(name[1], ())
    if not values or depth == 0:
        return None
    found: list[str] = []
    for value in values[:_MOST_VALUES]:
        paths = _expanded(f"{path[: name.start()]}{value}{path[name.end() :]}", at, depth - 1)
        if paths is None:
            return None
        found += paths
    return found[:_MOST_VALUES]


def _reach(path: str, at: _RunsIn) -> Grade:
    """How bad deleting a path is: low inside the task's directory."""
    grades = {_reach_of(each, at) for each in _expanded(path, at) or ["/"]}
    return "high" if "high" in grades else "low"


def _outside(paths: list[str], at: _RunsIn) -> bool:
    """One of the paths may be outside of the task's directory."""
    found = (each for path in paths or ["/"] for each in _expanded(path, at) or ["/"])
    return any(not each.startswith(_FRESH) and not _is_inside(each, at) for each in found)


def _is_inside(path: str, at: _RunsIn) -> bool:
    if path.startswith(("~", "$")) or (at.cwd is None and not path.startswith("/")):
        return False
    full = posixpath.normpath(posixpath.join(at.cwd or "/", path))
    homes = [home.rstrip("/") for home in (at.root, at.own) if home]
    return any(full == home or full.startswith(f"{home}/") for home in homes)


def _reach_of(path: str, at: _RunsIn) -> Grade:
    """The same of a path without variables."""
    if path.startswith(_FRESH):
        return "low"
    if path.startswith("~"):
        return "high"
    parts = path.split("/")
    fixed = next((n for n, part in enumerate(parts) if _GLOB.search(part)), len(parts))
    rest = "/".join(parts[fixed:])
    base = "/".join(parts[:fixed]) or ("/" if path.startswith("/") else "")
    if at.cwd is None and not base.startswith("/"):
        return "high"
    full = posixpath.normpath(posixpath.join(at.cwd or "/", base))
    whole = rest in _WHOLE
    if ".git" in full.split("/"):
        return "high"
    for home in (at.root, at.own) if at.own else (at.root,):
        if full == home:
            return "high" if whole else "low"
        if full.startswith(home.rstrip("/") + "/"):
            return "low"
    return "high"


def _worst(paths: list[str], at: _RunsIn) -> Grade:
    return "high" if any(_reach(path, at) == "high" for path in paths) else "low"


def _split(words: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """A program's options, with letters of a cluster taken apart, and the other words."""
    options: set[str] = set()
    rest: list[str] = []
    for at, word in enumerate(words[1:], 1):
        if word == "--":
            rest += words[at + 1 :]
            break
        if word.startswith("--"):
            options.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            options.update(f"-{letter}" for letter in word[1:])
        else:
            rest.append(word)
    return options, rest


# One rule for each family of programs.


def _rm(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    options, paths = _split(simple.words)
    if program(simple.words[0]) == "rimraf" or options & {"-r", "-R", "--recursive"}:
        names = " ".join(paths) or "its arguments"
        what = f"deletes {names[:100]} with all below"
        yield "rm-recursive", _worst(paths, at), what, _outside(paths, at)
    elif any(path in ("*", "./*", "/*", "~/*") for path in paths):
        yield "rm-all", "high", "deletes every file of a directory", _outside(paths, at)


def _find(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    words = simple.words
    starts: list[str] = []
    for word in words[1:]:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    chosen = {"-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-newer", "-mtime"}
    narrow = bool(chosen & set(words))
    inside = all(_reach(f"{start.rstrip('/')}/x", at) == "low" for start in starts or ["."])
    grade: Grade = "low" if narrow and inside else "high"
    if "-delete" in words:
        yield "find-delete", grade, "deletes all that it finds", _outside(starts or ["."], at)
    for at_word, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = tuple(w for w in words[at_word + 1 :] if w not in (";", "+", "{}"))
            if inner and program(inner[0]) in ("rm", "shred", "unlink"):
                yield (
                    "find-delete",
                    grade,
                    "deletes all that it finds",
                    _outside(starts or ["."], at),
                )
            elif inner:
                yield from _each(inner, at)


def _xargs(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    rest = simple.words[1:]
    while rest and rest[0].startswith("-"):
        takes = rest[0] in ("-n", "-I", "-P", "-L", "-s", "-d", "-a", "-E")
        rest = rest[2 if takes else 1 :]
    if rest and program(rest[0]) == "rm":
        options, _ = _split(rest)
        grade: Grade = "high" if options & {"-r", "-R", "--recursive"} else "low"
        yield "xargs-rm", grade, "deletes the files that it reads", grade == "high"
    elif rest:
        yield from _each(rest, at)


def _git(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    del at
    rest = simple.words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1 :]
    if not rest:
        return
    verb = rest[0]
    options, names = _split(rest)
    force = bool(options & {"-f", "--force"})
    all_of_it = bool(set(names) & {".", ":/", "*", "./"})
    match verb:
        case "clean" if force and not options & {"-n", "--dry-run"}:
            more = ", ignored ones too" if options & {"-x", "-X"} else ""
            yield "git-clean", "high", f"deletes files that git does not know{more}"
        case "reset" if "--hard" in options:
            yield "git-reset-hard", "high", "throws uncommitted work away"
        case "checkout" if force or all_of_it:
            yield "git-discard", "high", "throws uncommitted work away"
        case "switch" if force or "--discard-changes" in options:
            yield "git-discard", "high", "throws uncommitted work away"
        case "restore" if all_of_it and (not options & {"-S", "--staged"} or "-W" in options):
            yield "git-discard", "high", "throws uncommitted work away"
        case "push" if force or options & {"--mirror", "--prune", "--delete", "-d"}:
            yield "git-force-push", "high", "changes or deletes what others have"
        case "push" if any(name.startswith(("+", ":")) for name in names[1:]):
            yield "git-force-push", "high", "changes or deletes what others have"
        case "push" if "--force-with-lease" in options:
            yield "git-force-push", "low", "changes what others have, unless they pushed meanwhile"
        case "branch" if "-D" in options or (force and options & {"-d", "--delete"}):
            yield "git-branch-delete", "high", f"deletes the branch {' '.join(names)}"
        case "stash" if names[:1] in (["drop"], ["clear"]):
            yield "git-stash-drop", "high", "throws stashed work away"
        case "worktree" if force and names[:1] == ["remove"]:
            yield "git-worktree-remove", "high", "throws a worktree away, unfinished work too"
        case "update-ref" if "-d" in options:
            yield "git-ref-delete", "high", "deletes a ref"
        case "reflog" if names[:1] in (["expire"], ["delete"]):
            yield "git-forget", "high", "makes lost commits unfindable"
        case "gc" if "--prune" in options:
            yield "git-forget", "high", "makes lost commits unfindable"
        case "filter-branch" | "filter-repo":
            yield "git-rewrite", "high", "rewrites history"
        case _:
            pass


def _modes(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    options, paths = _split(simple.words)
    if options & {"-R", "--recursive"}:
        what = "owners" if program(simple.words[0]) != "chmod" else "modes"
        grade = _worst(paths[1:], at)
        yield "mode-recursive", grade, f"changes {what} of all below", _outside(paths[1:], at)


def _disk(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    del at
    words = simple.words
    harmless = words[1:] in (("--version",), ("--help",), ("-l",))
    if program(words[0]) == "dd":
        harmless = not any(word.startswith("of=/dev/") for word in words)
    if not harmless:
        yield "disk", "high", "writes over a disk or a file for good"


def _interpreter(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    """Code given as an argument or on stdin: what the code deletes, and what it runs in a shell."""
    words, flags = simple.words, {"-c", "-e", "-E", "-r", "--eval", "-p"}
    code = next((words[n + 1] for n, word in enumerate(words[:-1]) if word in flags), simple.stdin)
    if _DELETES.search(code):
        yield "code-delete", "high", "deletes directories from within a program"
    for _, shell in _CALLS.findall(code):
        for inner in commands(shell):
            yield from _hits(inner, at)


_CALLS = re.compile(r"""(?:system|popen|run|call|execSync|exec)\(\s*f?(["'`])(.+?)\1""")
_DELETES = re.compile(
    r"\brmtree\b|\bremovedirs\b|\brmSync\b|\brmdirSync\b|\bfs\.(promises\.)?rm\(|\brm_rf?\b"
    r"|\bremove_dir\b|\bremove_tree\b|\brimraf\b"
)


def _verbs(rule: str, what: str, *phrases: str) -> CommandRule:
    """A rule for programs with subcommands: broken by a phrase whose words come in this order."""
    wanted = [phrase.split() for phrase in phrases]

    def rule_of_phrases(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
        del at
        for phrase in wanted:
            rest = iter(simple.words[1:])
            if all(any(_fits(word, part) for word in rest) for part in phrase):
                yield rule, "high", what
                return

    return rule_of_phrases


def _fits(word: str, part: str) -> bool:
    return word.startswith(part[:-1]) if part.endswith("*") else word == part


def _kill(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    del at
    if simple.words[-1] == "-1" and len(simple.words) > 2:
        yield "kill-all", "high", "kills every process of this user"


def _sync(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    options, paths = _split(simple.words)
    if any(option.startswith("--del") for option in options) and not options & {"-n", "--dry-run"}:
        target = paths[-1] if paths else ""
        yield (
            "sync-delete",
            "high" if ":" in target else _worst([target], at),
            "deletes what is extra",
            ":" in target or _outside([target], at),
        )


def _database(simple: Simple, at: _RunsIn) -> Iterator[Hit]:
    del at
    if _EMPTIES.search(" ".join((*simple.words[1:], simple.stdin))):
        yield "database", "high", "drops or empties tables"


_EMPTIES = re.compile(
    r"\b(drop|truncate)\s+(table|database|schema|index|collection)\b"
    r"|\bdelete\s+from\s+\S+\s*(;|$)|\.drop\(\)|\bdropDatabase\b",
    re.IGNORECASE,
)

#: Programs with subcommands: the rule, what the command does, and the words in their order.
_PHRASES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("docker podman docker-compose nerdctl", "containers", "removes containers or volumes",
     ("prune", "volume rm", "rm -f", "rm --force", "rm -v", "down -v", "down --volumes")),
    ("terraform tofu pulumi cdk serverless", "infrastructure", "takes infrastructure away",
     ("destroy", "apply -destroy")),
    ("kubectl oc", "cluster", "takes things off a cluster", ("delete", "drain")),
    ("helm", "cluster", "takes things off a cluster", ("uninstall", "delete")),
    ("aws", "cloud", "deletes in the cloud",
     ("s3 rb", "s3 rm --recursive", "delete-*", "terminate-*")),
    ("gcloud az", "cloud", "deletes in the cloud", ("delete", "purge")),
    ("gsutil", "cloud", "deletes in the cloud", ("rm -r", "rm -R", "rb")),
    ("gh", "hosting", "deletes at the code host", ("repo delete", "release delete", "api DELETE")),
    ("npm", "registry", "takes a package back", ("unpublish",)),
    ("dropdb", "database", "drops a database", ("",)),
    ("redis-cli", "database", "empties a database", ("flushall", "FLUSHALL", "flushdb", "FLUSHDB")),
    ("rails rake", "database", "drops a database", ("db:drop*", "db:reset*")),
    ("shutdown reboot halt poweroff", "machine", "stops the machine", ("",)),
    ("systemctl", "machine", "stops the machine", ("poweroff", "reboot", "halt")),
    ("pkill killall", "kill-by-name", "kills processes by name, also those of others", ("",)),
    ("crontab", "crontab", "deletes all scheduled jobs", ("-r",)),
)  # fmt: skip

_RULES: Mapping[str, CommandRule] = {
    **{
        name: _verbs(rule, what, *phrases)
        for names, rule, what, phrases in _PHRASES
        for name in names.split()
    },
    **dict.fromkeys(("rm", "rimraf"), _rm),
    **dict.fromkeys(("xargs", "parallel"), _xargs),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _modes),
    **dict.fromkeys(("dd", "mkfs", "mkswap", "wipefs", "blkdiscard", "shred"), _disk),
    **dict.fromkeys(("fdisk", "sfdisk", "sgdisk", "parted", "diskutil"), _disk),
    **dict.fromkeys(("node", "deno", "bun", "perl", "ruby", "php"), _interpreter),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo"), _database),
    "find": _find,
    "git": _git,
    "kill": _kill,
    "rsync": _sync,
}
