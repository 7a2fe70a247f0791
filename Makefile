# `make demo` and `make test` do everything on a machine with Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
AGENTS := .agents

.PHONY: setup demo test check check-all bench bench-decisions bench-start bench-report bench-store sample schemas lock clean agents agents-npm test-agents

setup: $(STAMP)

$(STAMP): requirements/dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headway needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(STAMP)

demo: setup
	$(BIN)/headway demo textindex --into state/demo/textindex/scratch --state-root state/demo/textindex

test: setup
	$(BIN)/python -m pytest

# Real programs for the tests of the native agents, in a folder of the project's own: `agents` needs pip alone.
agents: $(AGENTS)/.pip

$(AGENTS)/.pip: requirements/agents.lock | $(STAMP)
	rm -rf $(AGENTS)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
		--require-hashes --target $(AGENTS)/pip -r requirements/agents.lock
	mkdir -p $(AGENTS)/bin
	ln -sf ../pip/claude_agent_sdk/_bundled/claude ../pip/codex_cli_bin/bin/codex $(AGENTS)/bin/
	touch $@

agents-npm: $(AGENTS)/.npm

$(AGENTS)/.npm: requirements/agents-npm/package-lock.json
	mkdir -p $(AGENTS)/npm $(AGENTS)/bin
	cp requirements/agents-npm/package.json requirements/agents-npm/package-lock.json $(AGENTS)/npm/
	npm install --prefix $(AGENTS)/npm --no-audit --no-fund --silent
	ln -sf ../npm/node_modules/.bin/gemini ../npm/node_modules/.bin/opencode $(AGENTS)/bin/
	touch $@

test-agents: setup agents agents-npm
	$(BIN)/python -m pytest -m agents

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/core tests/store

check-all: check test

bench: setup
	$(BIN)/python bench/bench_overhead.py

bench-decisions: setup
	$(BIN)/python bench/bench_decisions.py

bench-start: setup
	$(BIN)/python bench/bench_start.py

bench-store: setup
	$(BIN)/python bench/bench_store.py --race-seconds 60

bench-report: setup
	$(BIN)/python bench/bench_report.py

sample: setup
	$(BIN)/python bench/make_sample.py

schemas: setup
	$(BIN)/python -m headway.store.schema_files

lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet pip-tools
	$(VENV)-lock/bin/pip-compile --quiet --extra dev --extra bench --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --strip-extras --no-header --no-annotate \
		-o requirements/dev.lock pyproject.toml
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(AGENTS) build dist state/demo .mypy_cache .ruff_cache .hypothesis
