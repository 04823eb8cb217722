# Everything stands in .venv, which is made once. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$python"; break; }; done)

# Sessions and workers are processes of their own: without bytecode on the disk each compiles every module anew.
export PYTHONDONTWRITEBYTECODE :=

# The type checker sees the four folders through links: name the files that a person edits.
REAL_PATHS := sed -E 's|^\.typing/pac/||'

.PHONY: help setup run quick test test-slow check format bench screenshots clean

help:  ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMP)  ## Make the virtual environment .venv, once

$(STAMP): pyproject.toml setup.py
	@[[ -n "$(PYTHON)" ]] || { echo "Python 3.11 or newer is needed, and none is on the PATH: install one, or say make PYTHON=..."; exit 1; }
	[[ -x $(BIN)/python ]] || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --disable-pip-version-check --editable . --group dev
	@$(BIN)/python -m pac.envs drmario
	@touch $(STAMP)

# The kernels, once: else every worker of the tests would compile those that it meets.
$(COMPILED): $(STAMP) $(shell find envs -name '*.py')
	@$(BIN)/python -m pac.envs
	@touch $(COMPILED)

run: $(STAMP)  ## Start the app; make run ARGS="--num-envs 16" passes options on
	@$(BIN)/pac-tui $(ARGS)

quick: $(COMPILED)  ## Run the short tests, which start no process and learn nothing
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile quick \
		-m "not slow and not session and not thorough"

test: $(COMPILED)  ## Run the tests, all but the long ones
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow"

test-slow: $(STAMP)  ## Run the learning and soak tests
	$(BIN)/python -m pytest -q -m slow

check: $(STAMP)  ## Check format, lint, types, layers; run the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy | $(REAL_PATHS)
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

format: $(STAMP)  ## Format, and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## Run all benchmarks; prints the table of docs/benchmarks.md
	$(BIN)/pac-tui bench all $(ARGS)

screenshots: $(STAMP)  ## Take the pictures and the recording in screenshots/ from the real app
	$(BIN)/python -m pac.tui.screenshots
	$(BIN)/python -m pac.tui.recording

clean:  ## Remove what was built, not the runs
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
