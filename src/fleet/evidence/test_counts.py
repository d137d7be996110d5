"""How many tests a command executed, read from the closing lines of its test runner. Pure.

A skipped test is not executed, and neither is one that is expected to fail. A command may run
several runners, and a runner may close several times (a package, a binary): the numbers are added
up. A runner that prints no numbers (`go test` without `-v`) is not counted.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from fleet.schemas import CountedTests

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = re.compile(r"(\d+) ([a-z][a-z ]*[a-z])")

#: What the closing lines of one runner say: tests executed and tests skipped, once a line.
ClosingLines = Iterator[tuple[int, int]]


def count_tests(*outputs: str) -> CountedTests | None:
    """Count what the runners report in these streams. None: no runner printed a closing line."""
    texts = [_COLOURS.sub("", text).replace("\r\n", "\n") for text in outputs]
    found = {
        name: counts
        for name, read in RUNNERS.items()
        if (counts := [each for text in texts for each in read(text)])
    }
    if not found:
        return None
    every = [each for counts in found.values() for each in counts]
    return CountedTests(
        executed=sum(executed for executed, _ in every),
        skipped=sum(skipped for _, skipped in every),
        runners=tuple(found),
    )


def _named(text: str, executed: tuple[str, ...], skipped: tuple[str, ...]) -> tuple[int, int]:
    """Add up `3 passed, 1 skipped` by the words that count as executed and as skipped."""
    ran = left = 0
    for number, word in _NUMBERED.findall(text):
        ran += int(number) if word in executed else 0
        left += int(number) if word in skipped else 0
    return ran, left


_PYTEST = re.compile(
    r"^(?:=+ )?(no tests ran|\d+ [a-z]+(?:, \d+ [a-z ]+)*) in [\d.]+s"
    r"(?: \([\d:, a-z]+\))?(?: =+)?$",
    re.MULTILINE,
)


def _pytest(text: str) -> ClosingLines:
    for found in _PYTEST.finditer(text):
        yield _named(found[1], ("passed", "failed", "xpassed"), ("skipped", "xfailed"))


_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\s+(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?$", re.MULTILINE
)
_UNITTEST_LEFT = re.compile(r"(?:skipped|expected failures)=(\d+)")


def _unittest(text: str) -> ClosingLines:
    for found in _UNITTEST.finditer(text):
        left = sum(map(int, _UNITTEST_LEFT.findall(found[2] or "")))
        yield max(0, int(found[1]) - left), left


#: With `-v` each test begins with RUN; without, only tests that fail are named.
_GO_VERBOSE = re.compile(r"^=== RUN ", re.MULTILINE)
_GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)$", re.MULTILINE)
_GO_JSON = re.compile(r'^\{(?=[^\n]*"Test":)[^\n]*?"Action":"(pass|fail|skip)"', re.MULTILINE)
#: Packages without any test, and packages that tell no numbers.
_GO_NONE = re.compile(
    r"^(?:ok\s+\t?\S+\t.*\[no tests to run\]|\?\s+\t?\S+\t\[no test files\])$", re.MULTILINE
)
_GO_SILENT = re.compile(r"^(?:ok\s+\t?\S+\t(?!.*\[no tests to run\])|FAIL\b)", re.MULTILINE)


def _go(text: str) -> ClosingLines:
    readers = (_GO, _GO_JSON) if _GO_VERBOSE.search(text) else (_GO_JSON,)
    words = [found[1].lower() for read in readers for found in read.finditer(text)]
    if words:
        yield len(words) - words.count("skip"), words.count("skip")
    elif _GO_NONE.search(text) and not _GO_SILENT.search(text):
        yield 0, 0


_CARGO = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; ", re.MULTILINE
)


def _cargo(text: str) -> ClosingLines:
    for passed, failed, ignored in _CARGO.findall(text):
        yield int(passed) + int(failed), int(ignored)


#: The summary of the reporters `tap` and `spec`.
_NODE = re.compile(
    r"^(?:# |\u2139 )tests \d+\n(?:.*suites \d+\n)?.*pass (\d+)\n.*fail (\d+)\n.*cancelled \d+\n"
    r".*skipped (\d+)\n.*todo (\d+)$",
    re.MULTILINE,
)


def _node(text: str) -> ClosingLines:
    for passed, failed, skipped, todo in _NODE.findall(text):
        yield int(passed) + int(failed), int(skipped) + int(todo)


_JEST = re.compile(r"^Tests: +(\d.*?)?(?:, )?\d+ total$", re.MULTILINE)
_JEST_NONE = re.compile(r"^No tests found, exiting with code 0$", re.MULTILINE)


def _jest(text: str) -> ClosingLines:
    for found in _JEST.finditer(text):
        yield _named(found[1] or "", ("passed", "failed"), ("skipped", "todo"))
    for _ in _JEST_NONE.finditer(text):
        yield 0, 0


_VITEST = re.compile(r"^ +Tests +(\d.*?)(?: \(\d+\))?$", re.MULTILINE)
_VITEST_NONE = re.compile(r"^No test files found, exiting with code 0$", re.MULTILINE)


def _vitest(text: str) -> ClosingLines:
    for found in _VITEST.finditer(text):
        yield _named(found[1], ("passed", "failed"), ("skipped", "todo"))
    for _ in _VITEST_NONE.finditer(text):
        yield 0, 0


_MOCHA = re.compile(
    r"^  (\d+) passing \(\w+\)(?:\n  (\d+) pending)?(?:\n  (\d+) failing)?$", re.MULTILINE
)


def _mocha(text: str) -> ClosingLines:
    for passing, pending, failing in _MOCHA.findall(text):
        yield int(passing) + int(failing or 0), int(pending or 0)


#: The line for each class of tests ends with its time; the closing line does not.
_MAVEN = re.compile(
    r"^(?:\[\w+\] )?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)$", re.MULTILINE
)


def _maven(text: str) -> ClosingLines:
    for run, skipped in _MAVEN.findall(text):
        yield int(run) - int(skipped), int(skipped)


_CTEST = re.compile(r"^\d+% tests passed, \d+ tests? failed out of (\d+)$", re.MULTILINE)
_CTEST_SKIPPED = re.compile(r"^\s+\d+ - \S.* \(Skipped\)$", re.MULTILINE)
_CTEST_NONE = re.compile(r"^No tests were found!!!$", re.MULTILINE)


def _ctest(text: str) -> ClosingLines:
    skipped = len(_CTEST_SKIPPED.findall(text))
    for number, found in enumerate(_CTEST.finditer(text)):
        left = 0 if number else skipped
        yield max(0, int(found[1]) - left), left
    for _ in _CTEST_NONE.finditer(text):
        yield 0, 0


#: Each runner with the reader of its closing lines.
RUNNERS: Mapping[str, Callable[[str], ClosingLines]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "go test": _go,
    "cargo test": _cargo,
    "node --test": _node,
    "jest": _jest,
    "vitest": _vitest,
    "mocha": _mocha,
    "Maven Surefire": _maven,
    "ctest": _ctest,
}
