"""Which commands run tests, and what their output says of them. Pure.

A command is a test run, something that may be one, or one that only looks around. The tables name
what people use; a project's own verify command is a test run too. In doubt a command may be one: a
suspicion too many costs a whole run.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from fleet.tripwire import shell_parser


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Programs that do nothing but run tests.
_PROGRAMS = _words(
    "pytest py.test tox nox nosetests nose2 stestr trial behave robot"
    " jest vitest mocha ava jasmine karma tap playwright cypress wdio"
    " rspec cucumber minitest phpunit pest ctest bats busted prove gotestsum ginkgo"
)
#: Modules behind `python -m` that run tests.
_MODULES = _words("pytest unittest nose nose2 tox nox doctest trial behave robot")
#: Programs of which some subcommands or targets run tests.
_CALLS_TESTS = re.compile(r"(?:.*[:._/-])?(?:tests?|testing|specs?|check|verify|t)(?:[:._/-].*)?")
_SUBCOMMANDS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        _words(
            "make gmake just task rake npm pnpm yarn bun invoke inv mage doit ninja meson gradle"
            " gradlew mvn mvnw sbt lein mix rebar3 composer artisan rails hatch pdm dune"
        ),
        _CALLS_TESTS,
    ),
    **dict.fromkeys(
        _words(
            "go deno dotnet swift xcodebuild cabal stack zig bazel bazelisk flutter dart crystal"
            " nim forge hardhat truffle anchor buck2 blaze"
        ),
        re.compile(r"tests?"),
    ),
    "cargo": re.compile(r"t|test|nextest|miri"),
    "ember": re.compile(r"t|test"),
    "ng": re.compile(r"t|test"),
    "manage.py": re.compile(r"test"),
    "setup.py": re.compile(r"test|check"),
}
#: Programs that run another program, which stands somewhere among their words.
_RUNNERS = _words(
    "uv uvx poetry pipenv hatch pdm rye conda mamba micromamba pixi pnpm yarn bun npm pnpx bundle"
    " docker podman docker-compose kubectl nix nix-shell devenv mise direnv xvfb-run coverage php"
    " python python2 python3 pypy pypy3 node ruby perl bash sh zsh dash firejail bwrap"
)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
#: Words of a runner that fetches a program instead of running one.
_INSTALLING = frozenset(("install", "i", "add", "remove", "uninstall", "update", "ci", "sync"))
#: Names of scripts that run tests: `run_tests.sh`, `tests/smoke.py`, `scripts/test`, `test_a.py`.
_SCRIPT = re.compile(
    r"(?:^|.*/)(?:[\w.-]*[_.-])?(?:tests?|specs?|check)(?:[_.-][\w.-]*)?$|(?:^|/)tests?/.+"
)
#: Programs that look around, move files or talk to a tracker: no test run hides behind them.
_LOOKING = _words(
    "ls cat cd echo printf pwd head tail grep egrep fgrep rg ag find fd wc sort uniq sed awk cut tr"
    " git mkdir rmdir cp mv rm touch chmod chown ln which type whereis command true false : sleep"
    " diff cmp tree stat file bd fleet export set unset source . date env ps kill du df less more"
    " tee whoami id uname hostname basename dirname realpath readlink jq yq column clear history"
    " apply_patch test [ pushd popd read alias man help"
)
#: How frameworks say that something failed, or that nothing ran.
_FAILURE = re.compile(
    r"\b[1-9]\d* (?:tests? |examples?, |specs? )?(?:failed|failing|failures?)\b"
    r"|\b[1-9]\d* errors? (?:in|during)\b"
    r"|\bFAILED \((?:failures|errors)"
    r"|\btest result: FAILED\b"
    r"|^(?:--- )?FAIL\b"
    r"|^not ok \d"
    r"|\bno tests ran\b|\bNo module named\b|: (?:command )?not found\b",
    re.MULTILINE,
)
#: Long enough for any line of tests; a longer command is one that may test.
_LONGEST = 4000


def is_test_run(command: str, verify: Collection[str] = ()) -> bool:
    """Whether a command line runs tests; `verify` are the commands that the operator runs."""
    text = command.strip()
    if any(known.strip() and known.strip() in text for known in verify):
        return True
    return any(_tests(words) for words in _lines(text))


def may_test(command: str) -> bool:
    """Whether a command line could run tests under a name that no table has."""
    return any(shell_parser.program(words[0]) not in _LOOKING for words in _lines(command))


def shows_failure(output: str) -> bool:
    """Whether the end of a test run's output tells of a failure, whatever the exit code was.

    `pytest | tail` ends well however the tests did.
    """
    return _FAILURE.search(output) is not None


def _lines(text: str) -> list[Sequence[str]]:
    """The words of each simple command; of a script that a shell runs, the script's words."""
    found: list[Sequence[str]] = [
        simple.words for simple in shell_parser.commands(text[:_LONGEST]) if simple.words
    ]
    return found or ([text.split()] if text.split() else [])


def _tests(words: Sequence[str]) -> bool:
    name = shell_parser.program(words[0])
    rest = words[1:]
    if name in _PROGRAMS or _SCRIPT.match(words[0]):
        return name not in _LOOKING
    subcommand = _SUBCOMMANDS.get(name)
    if subcommand and any(map(subcommand.fullmatch, rest)):
        return True
    if _PYTHON.fullmatch(name) and "-m" in rest[:-1]:
        module = rest[rest.index("-m") + 1]
        return module.partition(".")[0] in _MODULES or _tests([module, *rest])
    if (name in _RUNNERS or _PYTHON.fullmatch(name)) and not _INSTALLING & set(rest):
        return any(_is_runnable(rest[at:]) for at in range(len(rest)))
    return False


def _is_runnable(words: Sequence[str]) -> bool:
    """A program or script of tests, among the words of a program that runs tests."""
    name = shell_parser.program(words[0])
    if words[0].startswith("-") and words[0] != "-m":
        return False
    if name in _PROGRAMS or (_SCRIPT.match(words[0]) and name not in _LOOKING):
        return True
    if words[0] == "-m":
        return words[1:2] != () and words[1].partition(".")[0] in _MODULES
    subcommand = _SUBCOMMANDS.get(name)
    return subcommand is not None and any(map(subcommand.fullmatch, words[1:]))
