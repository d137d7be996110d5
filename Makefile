.DEFAULT_GOAL := help
PY := .venv/bin/python
UV := $(shell command -v uv 2>/dev/null)
# Three for each core: a test waits most of its time, for processes that it started.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) '*' 3)

.PHONY: help demo setup test check bench chaos slow docs pictures clean

help:  ## say what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/runs  ## watch fleet at work with simulated agents
	@$(PY) -m fleet demo

# Only what fleet itself needs.
.venv/runs: pyproject.toml constraints.txt
ifneq ($(UV),)
	uv venv --quiet --allow-existing .venv
	uv pip install --quiet --compile-bytecode --python $(PY) -c constraints.txt -e .
else
	python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
endif
	touch $@

setup: .venv/ready  ## make .venv with everything that tests and checks need

.venv/ready: pyproject.toml constraints.txt
ifneq ($(UV),)
	uv venv --quiet --allow-existing .venv
	uv pip install --quiet --compile-bytecode --python $(PY) -c constraints.txt -e '.[notify,otel,postgres]' --group dev
else
	python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e '.[notify,otel,postgres]'
endif
	touch $@ .venv/runs

test: setup  ## run the tests, on all cores
	$(PY) -m pytest -n $(WORKERS) --dist worksteal

check: setup  ## lint, types (of the page too), room contracts, docs
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PY) -m tests.docs.check_types
	tools/check-page
	.venv/bin/lint-imports
	$(PY) -m pytest tests/docs

bench: setup  ## print the figures that we defend, as ratios of one run
	$(PY) -m tests.bench

chaos: setup  ## tasks, landings and hosts while processes are killed and links are cut: 70 minutes at most
	$(PY) -m tests.chaos

# The tests that say in their imports that they can try more.
slow: setup  ## ask the real bd everything, and try at random more often than every test run does
	FLEET_SLOW=1 $(PY) -m pytest -o timeout=600 -n $(WORKERS) --dist worksteal tests/contract \
		$$(grep -rlE 'conftest import .*\b(SLOW|only_slow|often|coders)\b' --include='test_*.py' tests)

docs: setup  ## write docs/cli.md, docs/api.md, docs/states.md and the page's types anew from the program
	$(PY) -m tests.docs.reference
	$(PY) -m tests.docs.state_words
	$(PY) -m tests.docs.page_shapes

pictures: setup  ## take the pictures of README and docs from a demo; needs chromium
	$(PY) -m tests.pictures.page
	$(PY) -m tests.pictures.top

clean:  ## remove what setup made
	rm -rf .venv
