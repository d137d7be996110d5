"""Which commands are test runs: the tables, and that nothing else is taken for one."""

import pytest

from fleet.evidence.test_runs import is_test_run, may_test, shows_failure

TEST_RUNS = """
pytest -q
python3 -m pytest -q tests/unit 2>&1 | tail -5
python -m unittest nosuchmodule
python3.11 -m unittest discover
.venv/bin/python -m pytest
.venv/bin/pytest -x
uv run pytest -n 2
uv run --with hypothesis python -m pytest
poetry run pytest
cd src && timeout 600 make test
make -C build check
npm test
npm run test:unit -- --ci
pnpm test
yarn jest
npx vitest run
bun test
cargo test --all
cargo nextest run
go test ./...
./gradlew test
mvn -q verify
dotnet test
bundle exec rspec
python manage.py test
php artisan test
./run_tests.sh
bash run_tests.sh
sh scripts/test.sh
python tests/smoke.py
node test.js
python test_parser.py
docker compose run --rm web pytest -q
tox -e py311
ctest --output-on-failure
bash -lc 'pytest -q'
coverage run -m pytest
""".strip().splitlines()

NO_TEST_RUNS = """
ls /nonexistent
cat tests/test_parser.py
git add tests && git commit -m 'add a test'
grep -rn pytest .
python -c 'print(1)'
python script.py
make build
npm run build
npm install
cargo build
go build ./...
pip install pytest
uv pip install pytest
uv add --dev pytest
npm install jest
echo pytest
mkdir -p tests
bd close fleet-a --reason 'all tests pass'
sed -n 1,20p tests/test_a.py
vim tests/a.py
docker ps
""".strip().splitlines()


@pytest.mark.parametrize("command", TEST_RUNS)
def test_a_test_run_is_recognised(command):
    """However it is wrapped."""
    assert is_test_run(command)
    assert may_test(command)


@pytest.mark.parametrize("command", NO_TEST_RUNS)
def test_another_command_is_none(command):
    """Not even one that names tests."""
    assert not is_test_run(command)


def test_the_operators_own_command_is_a_test_run():
    """Under whatever name, also within a longer line."""
    assert not is_test_run("./ci/all")
    assert is_test_run("./ci/all", verify=("./ci/all",))
    assert is_test_run("cd . && ./ci/all --fast", verify=("./ci/all",))


@pytest.mark.parametrize(
    ("command", "might"),
    [
        ("ls -l; cat a | head", False),
        ("git status && git diff", False),
        ("bd close fleet-a", False),
        ("python run.py", True),
        ("./ci/all", True),
        ("bash build.sh", True),
        ("git pull && ./ci/all", True),
    ],
)
def test_in_doubt_a_command_may_be_one(command, might):
    """Only commands that look around cannot."""
    assert may_test(command) is might


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("=== 1 failed, 3 passed in 0.12s ===", True),
        ("FAILED (failures=1, errors=2)", True),
        ("test result: FAILED. 1 passed; 2 failed", True),
        ("--- FAIL: TestX (0.00s)\nFAIL", True),
        ("not ok 3 - parses", True),
        ("  2 failing", True),
        ("/usr/bin/python3: No module named pytest", True),
        ("sh: 1: pytest: not found", True),
        ("no tests ran in 0.01s", True),
        ("=== 4 passed, 1 xfailed in 0.12s ===", False),
        ("test result: ok. 3 passed; 0 failed", False),
        ("ok  \texample/a\t0.01s", False),
        ("Tests: 12 passed, 12 total", False),
        ("0 failed", False),
        ("", False),
    ],
)
def test_output_tells_a_failure_that_a_pipe_hides(output, failed):
    """`pytest | tail` ends well however the tests did."""
    assert shows_failure(output) is failed
