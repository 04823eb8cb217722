# Everything is installed into .venv, which is created once. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GPU_PYTHON ?= 3.12
GPU_CUDA ?= 13.0
NEEDS_GPU = $(if $(shell nvidia-smi -L 2>/dev/null),,$(error make $@ needs an NVIDIA GPU and its driver, but nvidia-smi lists none))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
# The game that is compiled with the installation.
FIRST ?= drmario
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$python"; break; }; done)

# Sessions and workers are processes. Without bytecode on disk, each of them compiles every module.
export PYTHONDONTWRITEBYTECODE :=

# mypy reads the four folders through links; show the paths of the real files.
REAL_PATHS := sed -E 's|^\.typing/pac/||'

.PHONY: help setup run quick test interpreters snapshots test-slow gpu gpu-table gpu-pack check format bench screenshots clean

help:  ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMP)  ## Create the virtual environment .venv

$(STAMP): pyproject.toml setup.py
	@[[ -n "$(PYTHON)" ]] || { echo "Python 3.11 or newer is required, but none is on the PATH; install it, or run make PYTHON=/path/to/python"; exit 1; }
	[[ -x $(BIN)/python ]] || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --disable-pip-version-check --editable . --group dev
	@$(if $(FIRST),$(BIN)/python -m pac.envs $(FIRST))
	@touch $(STAMP)

# Compiles all kernels once, so that the workers of the tests need not.
$(COMPILED): $(STAMP) $(shell find envs -name '*.py')
	@$(BIN)/python -m pac.envs
	@touch $(COMPILED)

run: $(STAMP)  ## Start the app; make run ARGS="--num-envs 16" passes options on
	@$(BIN)/pac-tui $(ARGS)

quick: $(COMPILED)  ## Run the quick tests
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile quick \
		-m "not slow and not session and not thorough"

test: $(COMPILED)  ## Run all tests except the slow ones; failed tests once more
	$(BIN)/python tests/run.py -m "not slow" $(ARGS)

snapshots: $(STAMP)  ## Store what the app draws now as the screens in tests/tui/snapshots; review the difference
	UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests/tui/test_screens.py

interpreters: $(STAMP)  ## Run most quick tests on the other versions of Python that are found
	.ci/interpreters $(ARGS)

test-slow: $(COMPILED)  ## Run the slow tests: learning and soak tests, and properties with 500 examples
	$(BIN)/python -m pytest -q --hypothesis-profile slow --timeout 1800 -m "slow or hypothesis"

check: lint test  ## Check format, lint, types and layers, and run the tests

lint: $(STAMP)  ## Check format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy | $(REAL_PATHS)
	$(BIN)/lint-imports

gpu:  ## Run the tests that need a GPU and a short benchmark, in less than ten minutes
	$(NEEDS_GPU)
	.ci/gpu

gpu-table:  ## Measure PPO on a GPU in all variants, for the tables of docs/device.md, in eight minutes
	$(NEEDS_GPU)
	.ci/gpu table

gpu-pack: $(STAMP)  ## Pack sources and wheels into build/gpu.tar.xz, for make gpu without internet; GPU_PYTHON=3.12 GPU_CUDA=13.0
	$(BIN)/python .ci/pack-gpu $(GPU_PYTHON) $(GPU_CUDA)

format: $(STAMP)  ## Format, and fix what the linter can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## Run all benchmarks and print the table of docs/benchmarks.md
	$(BIN)/python -m tests.benchmarks all $(ARGS)

screenshots: $(STAMP)  ## Take the pictures and the recording in screenshots/ from the real app
	$(BIN)/python screenshots/pictures.py
	$(BIN)/python screenshots/recording.py

clean:  ## Remove the virtual environment and build files, but no runs
	rm -rf $(VENV) $(VENV)-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
