"""Which of the changed files belong to the exam of the work, and when a person looks at it. Pure.

The exam is what decides whether the work passes: tests, build files, CI files, and scripts that the
verify command names. The tables name what people use; what is missing there is shown as a changed
file like any other. Pinned files are no part of it: they are put back before the commands run.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from fleet.git.path_patterns import PathPatterns
from fleet.schemas import Check, Exam, FileChange, Policy
from fleet.schemas.shown_text import counted, some

#: Directories that hold tests, at any depth.
_TEST_FOLDERS = frozenset(
    ("test", "tests", "spec", "specs", "__tests__", "__snapshots__", "e2e", "testdata")
)
#: Names of test files anywhere else.
_TEST = re.compile(
    r"test_.+|tests?\.\w+|.+_(?:test|tests|spec)\.\w+|.+\.(?:test|tests|spec|cy)\.\w+"
    r"|(?:Test[A-Z]\w*|\w+(?:Tests?|IT|Spec))\.(?:java|kt|kts|scala|groovy|cs|php|swift)|.+\.bats"
)
#: Files that say how a project is built and how its tests run.
_BUILD = re.compile(
    r"(?i:gnu)?[Mm]akefile|.+\.mk|[Jj]ustfile|Taskfile\.ya?ml|Rakefile|Gemfile|Dockerfile"
    r"|pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|pytest\.ini|noxfile\.py|conftest\.py"
    r"|(?:site|user)customize\.py|\.coveragerc|Pipfile|(?:requirements|constraints)[\w.-]*\.(?:txt|in)"
    r"|package\.json|deno\.jsonc?|turbo\.json|nx\.json|lerna\.json|tsconfig[\w.-]*\.json"
    r"|(?:jest|vitest|vite|karma|babel|playwright|cypress|webpack|rollup|ava|mocha)[\w.-]*\.config\.\w+"
    r"|(?:jest|vitest|vite|karma|babel|playwright|cypress)\.(?:config|conf)\.\w+"
    r"|\.(?:mocharc|babelrc|nycrc|swcrc|rspec)[\w.]*"
    r"|Cargo\.toml|build\.rs|rust-toolchain(?:\.toml)?|go\.(?:mod|work)"
    r"|CMakeLists\.txt|CMakePresets\.json|.+\.cmake|meson\.build|BUILD(?:\.bazel)?|WORKSPACE|.+\.bzl"
    r"|pom\.xml|build\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|build\.sbt"
    r"|composer\.json|phpunit\.xml(?:\.dist)?|mix\.exs|Package\.swift|.+\.(?:csproj|fsproj|sln)"
)
#: Files that a CI service runs by: directories from the top, and names.
_CI_FOLDERS = re.compile(
    r"(?:\.(?:github|gitea|forgejo)/(?:workflows|actions)|\.circleci|\.buildkite|\.ci|\.cargo)/.+"
)
_CI = re.compile(
    r"\.gitlab-ci\.ya?ml|\.travis\.ya?ml|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml"
    r"|appveyor\.ya?ml|\.appveyor\.ya?ml|\.drone\.ya?ml|\.woodpecker\.ya?ml|cloudbuild\.ya?ml"
    r"|buildspec\.ya?ml|\.cirrus\.ya?ml|Jenkinsfile|\.pre-commit-config\.ya?ml"
)
#: Programs whose first word without a dash is a script.
_INTERPRETERS = re.compile(r"(?:ba|da|z|k)?sh|source|\.|python[\d.]*|node|ruby|perl|php|deno|bun")
_WILDCARD = re.compile(r"\*+|\?|\[[^]]*\]")
_NAMED = 5


def exam_of(changes: Iterable[FileChange], policy: Policy, inside: str = ".") -> Exam:
    """The part of these changes that belongs to the exam. `inside` is the task's directory from the
    top of the tree, which the paths of the changes begin at.
    """
    scripts = {_path(inside, each) for each in _scripts(policy.verify)}
    pins = [_path(inside, pin) for pin in policy.pins]
    changed, added = list[str](), list[str]()
    for each in changes:
        if any(each.path == pin or each.path.startswith(f"{pin}/") for pin in pins):
            continue
        if is_setting(each.path) or (each.path in scripts and each.kind != "added"):
            changed.append(each.path)
        elif is_test(each.path):
            (added if each.kind == "added" else changed).append(each.path)
    unnamed = changed
    if meant := tuple(filter(_names_exam, policy.scope)):
        named = PathPatterns(meant, inside)
        unnamed = [path for path in changed if not named.match(path)]
    return Exam(changed=tuple(changed), added=tuple(added), unnamed=tuple(unnamed))


def is_test(path: str) -> bool:
    """Whether a file is a test, or belongs to tests."""
    *folders, name = path.split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST.fullmatch(name) is not None


def is_setting(path: str) -> bool:
    """Whether a file says how a project is built, or what its CI runs."""
    name = posixpath.basename(path)
    found = _BUILD.fullmatch(name) or _CI.fullmatch(name) or _CI_FOLDERS.fullmatch(path)
    return found is not None


def why_exam_asks(checks: Sequence[Check], exam: Exam) -> tuple[str, ...]:
    """Why a person has to look at work whose claim holds, a few words each."""
    reasons = [f"the exam changed: {some(exam.unnamed, _NAMED)}"] if exam.unnamed else []
    for check in checks:
        before = check.base.tests if check.base is not None else None
        if before is None or check.tests is None:
            continue
        if check.tests.executed < before.executed:
            reasons.append(f"tests: {check.tests_words} (`{check.command}`)")
        elif not check.tests.executed:
            reasons.append(f"no test ran, as before the work (`{check.command}`)")
    return tuple(reasons)


def fewer_tests(checks: Sequence[Check], exam: Exam) -> str:
    """How a command that passed ran fewer tests than on the base; empty: it did not.

    Fewer tests by a change of the exam are for a person to judge, unless none is left.
    """
    found = (_fewer(check, exam) for check in checks if check.passed)
    return next(filter(None, found), "")


def _fewer(check: Check, exam: Exam) -> str:
    before = check.base.tests if check.base is not None else None
    now = check.tests
    if now is None and before is None:
        return ""
    if now is None:
        runners = ", ".join(before.runners) if before is not None else ""
        return (
            f"`{check.command}` passed without the closing line of {runners}, which it printed"
            " before the work"
        )
    if not now.executed:
        if before is not None and not before.executed:
            return ""
        skipped = f", {now.skipped} are skipped" if now.skipped else ""
        earlier = f", and {before.executed} before the work" if before is not None else ""
        return f"`{check.command}` passed and ran no test{skipped}{earlier}"
    if before is None or now.executed >= before.executed or exam.changed:
        return ""
    skipped = f" ({now.skipped} skipped)" if now.skipped else ""
    return (
        f"`{check.command}` ran {counted(now.executed, 'test')}{skipped}, and"
        f" {before.executed} before the work, though no test and no build file changed"
    )


def _scripts(commands: Iterable[str]) -> Iterator[str]:
    """The scripts that command lines start: by their own path, or as the file of an interpreter."""
    for command in commands:
        for words in _simple_commands(command):
            yield from (word for word in words if word.startswith("./"))
            if words and "/" in words[0]:
                yield words[0]
            for at, word in enumerate(words):
                if _INTERPRETERS.fullmatch(word.rpartition("/")[2]):
                    yield from words[at + 1 : at + 2]


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The words between the operators of a command line, without flags."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that does not end
        tokens = command.split()
    words: list[str] = []
    for token in (*tokens, ";"):
        if set(token) <= set("();<>|&"):
            yield words
            words = []
        elif token in ("-m", "-c"):  # what follows is no file
            words.append("")
        elif not token.startswith("-"):
            words.append(token)


def _path(inside: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(inside, path))


def _names_exam(pattern: str) -> bool:
    """Whether a pattern of a scope is written for files of the exam, and not only matches some."""
    text = _WILDCARD.sub("x", pattern.lstrip("!/"))
    inner = f"{text.rstrip('/')}/x"  # a directory is named without a star, too
    return is_test(text) or is_setting(text) or is_test(inner) or is_setting(inner)
