.DEFAULT_GOAL := help
PY := .venv/bin/python
UV := $(shell command -v uv 2>/dev/null)

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
	$(PY) -m pytest -n auto --dist worksteal

check: setup  ## lint, types (of the page too), room contracts, docs
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/basedpyright
	tools/check-page
	.venv/bin/lint-imports
	$(PY) -m pytest tests/docs

bench: setup  ## print the figures that we defend, as ratios of one run
	$(PY) -m tests.bench

chaos: setup  ## tasks, landings and hosts while processes are killed and links are cut: 70 minutes at most
	$(PY) -m tests.chaos

slow: setup  ## ask the real bd everything, and try at random more often than every test run does
	FLEET_SLOW=1 $(PY) -m pytest -n auto --dist worksteal \
		tests/contract tests/real/test_accounts.py tests/real/test_answer_from_phone.py \
		tests/real/test_ask_human.py tests/real/test_bd_parity.py \
		tests/real/test_bd_round_trips.py tests/real/test_beads.py tests/real/test_boxed.py \
		tests/real/test_compare.py tests/real/test_context.py tests/real/test_doctor.py \
		tests/real/test_gitea.py tests/real/test_gitea_story.py tests/real/test_hostile.py \
		tests/real/test_mcp_sdk.py tests/real/test_plan.py tests/real/test_review.py \
		tests/real/test_sent_back.py tests/real/test_spool.py tests/real/test_supervised_kills.py \
		tests/real/test_supervised_resume.py tests/real/test_supervised_trouble.py \
		tests/real/test_told.py tests/real/test_verdicts.py tests/story/test_accounts.py \
		tests/story/test_chaos.py tests/story/test_compare.py tests/story/test_damage.py \
		tests/story/test_demo.py tests/story/test_host_add.py tests/story/test_host_faults.py \
		tests/story/test_hosts.py tests/story/test_landing_chaos.py \
		tests/story/test_notify.py tests/story/test_page.py tests/story/test_queue_chaos.py \
		tests/story/test_supervisor_chaos.py tests/story/test_travel_faults.py \
		tests/unit/coders/test_any_line.py tests/unit/git/land/follow \
		tests/unit/landing/test_killed_lander.py

docs: setup  ## write docs/cli.md, docs/api.md and the page's types anew from the program
	$(PY) -m tests.docs.reference
	$(PY) -m tests.docs.page_shapes

pictures: setup  ## take the pictures of README and docs from a demo; needs chromium
	$(PY) -m tests.pictures.page
	$(PY) -m tests.pictures.top

clean:  ## remove what setup made
	rm -rf .venv
