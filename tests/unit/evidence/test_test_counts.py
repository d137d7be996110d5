"""How many tests ran, by what the runners really print: each file is the output of one real run."""

from pathlib import Path

import pytest

from fleet.evidence.test_counts import RUNNERS, count_tests

OUTPUT = Path(__file__).parents[2] / "data" / "test_output"
#: Each output with the runner, the tests executed and the tests skipped; None: not counted.
COUNTS = {
    "cargo-bad": ("cargo test", 4, 1),
    "cargo-good": ("cargo test", 4, 1),
    "cargo-quiet": ("cargo test", 2, 1),
    "cargo-skips": ("cargo test", 0, 1),
    "ctest-good": ("ctest", 1, 0),
    "ctest-mixed": ("ctest", 3, 1),
    "ctest-none": ("ctest", 0, 0),
    "ctest-skips": ("ctest", 0, 1),
    "go-json": ("go test", 6, 1),
    "go-nothing": ("go test", 0, 0),
    "go-plain": None,
    "go-plain-good": None,
    "go-verbose": ("go test", 6, 1),
    "jest-good": ("jest", 2, 0),
    "jest-mixed": ("jest", 2, 2),
    "jest-none": ("jest", 0, 0),
    "jest-skips": ("jest", 0, 1),
    "maven-bad": ("Maven Surefire", 3, 1),
    "maven-good": ("Maven Surefire", 3, 1),
    "maven-quiet": None,
    "maven-skips": ("Maven Surefire", 0, 1),
    "mocha-dot": ("mocha", 2, 0),
    "mocha-good": ("mocha", 2, 0),
    "mocha-mixed": ("mocha", 2, 1),
    "mocha-none": ("mocha", 0, 0),
    "node-default": ("node --test", 2, 0),
    "node-dot": None,
    "node-skips": ("node --test", 0, 1),
    "node-spec": ("node --test", 4, 2),
    "node-tap": ("node --test", 4, 2),
    "pytest-broken": ("pytest", 0, 0),
    "pytest-colour": ("pytest", 4, 2),
    "pytest-deselected": ("pytest", 1, 0),
    "pytest-mixed": ("pytest", 4, 2),
    "pytest-none": ("pytest", 0, 0),
    "pytest-quiet": ("pytest", 2, 0),
    "pytest-skips": ("pytest", 0, 1),
    "pytest-verbose": ("pytest", 2, 0),
    "pytest-xdist": ("pytest", 2, 0),
    "unittest-good": ("unittest", 2, 0),
    "unittest-mixed": ("unittest", 2, 2),
    "unittest-none": ("unittest", 0, 0),
    "unittest-quiet": ("unittest", 2, 0),
    "unittest-skips": ("unittest", 0, 2),
    "vitest-good": ("vitest", 2, 0),
    "vitest-mixed": ("vitest", 2, 2),
    "vitest-none": ("vitest", 0, 0),
    "vitest-skips": ("vitest", 0, 1),
}


def output(name):
    return (OUTPUT / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COUNTS)
def test_the_tests_of_a_real_run_are_counted(name):
    """Also where some fail, are skipped, or are expected to fail."""
    found = count_tests(output(name))
    expected = COUNTS[name]
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.runners, found.executed, found.skipped) == ((expected[0],), *expected[1:])


def test_each_runner_is_read_in_a_run_with_failures_and_in_one_without_tests():
    """A table without an example of a runner would prove nothing of it."""
    counted = {found[0]: set() for found in COUNTS.values() if found}
    for found in filter(None, COUNTS.values()):
        counted[found[0]].add(found[1] == 0)
    assert counted == {name: {True, False} for name in RUNNERS}
    assert {path.stem for path in OUTPUT.glob("*.txt")} == set(COUNTS)


def test_the_numbers_of_several_runners_are_added_up():
    """`make test` may run more than one, and a stream has some of it."""
    found = count_tests(output("pytest-quiet") + output("jest-good"), output("unittest-good"))
    assert (found.executed, found.runners) == (6, ("pytest", "unittest", "jest"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all tests passed\n",
        "I ran 42 tests, 42 passed in total\n",
        "Ran 3 tests in 0.001s\n",  # and never said how they ended
        '{"Action":"pass","Package":"example.org/a","Elapsed":0}\n',
        "FAIL\texample.org/a/sub\t0.003s\n--- FAIL: TestBad (0.00s)\n",
    ],
)
def test_other_words_are_no_closing_line(text):
    """Nothing is counted where no runner has closed."""
    assert count_tests(text) is None


def test_a_long_time_is_a_closing_line_too():
    """After a minute pytest adds the time in hours."""
    assert count_tests("=== 3 passed, 1 warning in 61.02s (0:01:01) ===\n").executed == 3
    assert count_tests("  3 passing (2m)\n  1 pending\n").executed == 3
