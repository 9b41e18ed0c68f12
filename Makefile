# Needs bash, git, make and Python 3.11 or newer with venv. Everything else goes into .venv, with exact versions
# and hashes from requirements/. A second run installs nothing and needs no network.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
BIN := .venv/bin
# A machine without uv gets the pinned one, inside .venv.
UV := $(or $(shell command -v uv),$(BIN)/uv)
READY := .venv/pyvenv.cfg $(filter $(BIN)/uv,$(UV))
# A .venv whose Python has been removed or moved is of no use: make it anew.
$(shell test -x $(BIN)/python || rm -rf .venv)
export UV_PYTHON_DOWNLOADS := never
# Hundreds of small processes start in the tests: each would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

INSTALL := $(UV) pip install --quiet --python $(BIN)/python
INSTALL_PROJECT := $(INSTALL) --no-deps --no-build-isolation --editable .

.PHONY: help run test setup bench docs fmt pins clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

run: .venv/.base-stamp ## install what toolroll itself needs, serve this repository over MCP, print how to connect
	$(BIN)/toolroll mcp --http -C .

test: .venv/.peers-stamp ## run every check: format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -n 2 --dist worksteal

setup: .venv/.peers-stamp ## make .venv with everything that development needs

bench: .venv/.dev-stamp ## measure against peers; ARGS=--quick for a first look
	PYTHONPATH=. $(BIN)/python -m bench $(ARGS)
	$(if $(ARGS),,PYTHONPATH=. $(BIN)/python -m bench.races)

docs: .venv/.dev-stamp ## write the generated pages of the manual anew
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/replay.py

fmt: .venv/.dev-stamp ## format the code and repair what ruff can repair
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build products
	rm -rf .venv .bench build dist uv.lock .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say which requirements .venv holds. Installing only ever adds, so `run` leaves a `setup` as it was.

.venv/.dev-stamp: requirements/dev.txt requirements/base.txt pyproject.toml $(READY)
	$(INSTALL) --require-hashes -r requirements/dev.txt
	$(INSTALL_PROJECT)
	@touch .venv/.base-stamp $@

# What the tests drive besides: the weights of the embedder, and official programs from npm. Where they cannot be had, the
# tests that need them say so and are skipped.
.venv/.peers-stamp: tests/npm/package.json src/toolroll/host/embedding/models.py .venv/.dev-stamp
	@$(BIN)/toolroll models fetch & $(BIN)/python -m tests.npm.node & wait
	@touch $@

.venv/.base-stamp: requirements/base.txt pyproject.toml $(READY)
	$(INSTALL) --require-hashes -r requirements/base.txt
	$(INSTALL_PROJECT)
	@touch $@

.venv/pyvenv.cfg:
	@version=$$($(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11), sys.version.split()[0])') || \
		{ echo "toolroll needs Python 3.11 or newer; '$(PYTHON)' does not run. Try: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }; \
	[[ $$version == True* ]] || \
		{ echo "toolroll needs Python 3.11 or newer; '$(PYTHON)' is $${version#* }. Try: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }
	@if command -v uv >/dev/null; then \
		uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv; \
	else \
		$(PYTHON) -m venv .venv; \
	fi

$(BIN)/uv: requirements/uv.txt .venv/pyvenv.cfg
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r $<
	@touch $@

pins: $(READY) ## write requirements/*.txt from pyproject.toml; UPGRADE=1 takes the newest versions
	UV='$(UV)' PYTHON=$(BIN)/python requirements/write
