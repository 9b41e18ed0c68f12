# Needs bash, git, make and Python 3.11 or newer with venv. Everything else goes into .venv, and for `run` into a folder
# outside, with exact versions and hashes from requirements/. A second run installs nothing and needs no network.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is served must not hold what serves it: `run` installs toolroll here, one folder for each checkout.
RUN := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/toolroll/run-$(shell pwd -P | sha256sum | cut -c 1-12)
# A machine without uv gets the pinned one, inside the environment.
UV := $(or $(shell command -v uv),$(BIN)/uv)
READY := $(VENV)/pyvenv.cfg $(filter $(BIN)/uv,$(UV))
# An environment whose Python was removed or moved, or is not the one that PYTHON=... asks for, is made again.
ASKED := $(if $(filter file,$(origin PYTHON)),,$(shell $(PYTHON) -V 2>/dev/null))
$(shell [[ ! -e $(VENV)/pyvenv.cfg || $$($(BIN)/python -V 2>&1) == "$(or $(ASKED),Python )"* ]] || rm -rf $(VENV))
export UV_PYTHON_DOWNLOADS := never
# Hundreds of small processes start in the tests: each would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

INSTALL := $(UV) pip install --quiet --python $(BIN)/python
INSTALL_PROJECT := $(INSTALL) --no-deps --no-build-isolation

# `make install EXTRAS=code,rag` adds extras of pyproject.toml; all versions are those of requirements/.
EXTRAS ?= mcp
PACKAGE = $(CURDIR)$(if $(EXTRAS),[$(EXTRAS)])
# uv keeps tools apart as pipx does; a machine with neither gets the pinned uv.
PIPX := $(if $(shell command -v uv),,$(shell command -v pipx))

.PHONY: help run install uninstall dist test test-pythons platforms soak clients toolchains stories adapters ray setup bench docs fmt pins clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

run: ## install toolroll into a folder outside, serve this repository over MCP, print how to connect
	@[[ "$(RUN)" != *' '* ]] || { echo "make cannot use the folder '$(RUN)': it has a space. Try: make run RUN=/another/folder" >&2; exit 1; }
	@$(MAKE) VENV=$(RUN) $(RUN)/.run-stamp
	$(RUN)/bin/toolroll mcp --http -C .

install: $(if $(PIPX),,$(READY)) ## put toolroll on your PATH (uv tool or pipx), or upgrade it; EXTRAS=code,rag adds extras
ifdef PIPX
	$(PIPX) install --force --pip-args='--constraint $(CURDIR)/requirements/dev.txt' '$(PACKAGE)'
else
	$(UV) tool install --force --reinstall-package toolroll --constraints requirements/dev.txt '$(PACKAGE)'
endif
	@command -v toolroll >/dev/null || echo "Its folder is not on your PATH yet. Run: $(if $(PIPX),pipx ensurepath,$(UV) tool update-shell)"

uninstall: ## remove what make install installed
	$(if $(PIPX),$(PIPX) uninstall,$(UV) tool uninstall) toolroll

dist: $(VENV)/.dev-stamp ## build wheel and sdist into dist/: twice, to the same bytes, and installed without network
	rm -rf dist build/dist
	for folder in dist build/dist/again; do $(UV) build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir $$folder; done
	for file in dist/toolroll-*; do \
		cmp $$file build/dist/again/$${file##*/}; \
		$(UV) venv --quiet --clear --python $(BIN)/python build/dist/env; \
		$(UV) pip install --quiet --offline --python build/dist/env --constraints requirements/dev.txt $$file; \
		(cd build/dist && env -u PYTHONPATH env/bin/toolroll call ls path=again) | grep -q toolroll; \
	done
	@ls -l dist

test: $(VENV)/.peers-stamp ## run every check: format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@# Tests often wait for programs: there is one worker more than cores of a small machine, and imports and types are
	@# checked beside them; the answer is printed after theirs.
	@set +e; exec 3< <($(BIN)/lint-imports --no-logo && $(BIN)/mypy); checks=$$!; $(BIN)/pytest -n 3 --dist worksteal; tests=$$?; cat <&3; wait $$checks && exit $$tests

platforms: $(VENV)/.dev-stamp ## check the types as on macOS, and those of the kernel and of pure code as on Windows
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 --follow-imports silent $(addprefix src/toolroll/,text policy schema result.py tool.py dialect.py kit.py)

test-pythons: ## run every check on the oldest and on the newest Python of this machine, each with its own environment
	@pythons=$$(requirements/pythons | sed -n '1p;1!{$$p;}'); \
	[[ -n $$pythons ]] || { echo "There is no Python 3.11 or newer on PATH or with pyenv." >&2; exit 1; }; \
	for one in $$pythons; do \
		echo "Python $${one%%:*}"; \
		$(MAKE) test VENV=.venv-$${one%%:*} PYTHON=$${one#*:}; \
	done

soak: $(VENV)/.dev-stamp ## run what is long: every form of the git tool against a hostile repository, thousands of random commands
	$(BIN)/pytest -n 2 -m soak -rs --timeout 1800

clients: $(VENV)/.dev-stamp ## run the real clients (Claude Code, Codex, opencode, Gemini CLI) against a scripted model
	$(BIN)/python -m tests.npm.node tests/clients/npm/*.json
	$(BIN)/pytest -m "slow or not slow" tests/clients

toolchains: $(VENV)/.dev-stamp ## run real package managers, servers, test runners and linters; TOOLS=folder has what is not on PATH
	$(BIN)/python -m tests.npm.node tests/toolchains/package.json
	TOOLCHAINS=$(TOOLS) $(BIN)/pytest -m slow -rs tests/toolchains

stories: $(VENV)/.dev-stamp ## tell all stories of the console in a real Chromium; writes docs/pictures/
	$(BIN)/python -m tests.npm.node tests/console/page/package.json
	$(BIN)/pytest -m "slow or not slow" -rs tests/console/page

# Some frameworks leave sockets and event loops open, which the tests of toolroll itself must not.
IGNORE_LEAKS := -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

adapters: adapters-requirements adapters-deepagents adapters-harbor adapters-verifiers ## run the adapters with the real agent frameworks, in environments of their own

adapters-requirements: TESTED := tests/adapters tests/fleet/test_remote_lease.py
adapters-%: TESTED = tests/adapters/test_$*.py
# harbor needs Python 3.12: the newest one of this machine.
adapters-harbor: FRAMEWORK_PYTHON = $(shell requirements/pythons | sed -n '$$s/^[^:]*://p')
adapters-%: FRAMEWORK_PYTHON = $(BIN)/python
adapters-%: $(READY)
	$(UV) venv --quiet --allow-existing --python $(FRAMEWORK_PYTHON) .venv-adapters-$*
	$(UV) pip install --quiet --python .venv-adapters-$*/bin/python --require-hashes -r tests/adapters/$*.txt
	@# Without a plugin that comes with langchain-tests and wants to be configured.
	PYTHONPATH=$(CURDIR)/src .venv-adapters-$*/bin/python -m pytest -m "slow or not slow" -rs -p no:asyncio $(IGNORE_LEAKS) $(TESTED)

ray: $(READY) ## run the fleet on three simulated nodes of Ray, in an environment of its own
	$(UV) venv --quiet --allow-existing --python $(BIN)/python .venv-ray
	$(UV) pip install --quiet --python .venv-ray/bin/python --require-hashes -r tests/fleet/engines/ray.txt
	PYTHONPATH=$(CURDIR)/src .venv-ray/bin/python -m pytest -m slow -rs $(IGNORE_LEAKS) tests/fleet/engines/test_ray.py

setup: $(VENV)/.peers-stamp ## make .venv with everything that development needs

bench: $(VENV)/.dev-stamp ## measure against peers; ARGS=--quick for a first look
	PYTHONPATH=. $(BIN)/python -m bench $(ARGS)
	$(if $(ARGS),,PYTHONPATH=. $(BIN)/python -m bench.races)
	$(if $(ARGS),,PYTHONPATH=. $(BIN)/python -m bench.daemon)

docs: $(VENV)/.dev-stamp ## write the generated pages of the manual
	$(BIN)/python -m docs.generate
	$(BIN)/python docs/replay.py

fmt: $(VENV)/.dev-stamp ## format the code and repair what ruff can repair
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean: ## remove the environments, caches and build products
	rm -rf .venv .venv-* "$(RUN)" .bench build dist uv.lock .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say which requirements an environment holds.

$(VENV)/.dev-stamp: requirements/dev.txt pyproject.toml $(READY)
	@# Compiled once, here: children in a sandbox cannot keep what they compile, and would do it at every start.
	$(INSTALL) --compile-bytecode --require-hashes -r requirements/dev.txt
	$(INSTALL_PROJECT) --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

PACKAGES := tests/npm/package.json tests/clients/npm/claude-code.json tests/console/page/package.json
# What the tests drive besides: the weights of the embedder, and official programs from npm. Where they cannot be had, the
# tests that need them say so and are skipped.
$(VENV)/.peers-stamp: $(PACKAGES) src/toolroll/host/models/embedding/model_files.py $(VENV)/.dev-stamp
	@$(BIN)/toolroll models fetch & $(BIN)/python -m tests.npm.node $(PACKAGES) & wait
	@touch $@

$(VENV)/.base-stamp: requirements/base.txt requirements/re2.txt $(READY)
	$(INSTALL) --compile-bytecode --require-hashes -r requirements/base.txt
	@$(INSTALL) --only-binary :all: --require-hashes -r requirements/re2.txt || \
		echo "google-re2 has no wheel for this machine: regular expressions will run in a child process."
	@touch $@

# A copy of the package, and again when a file of it has changed.
$(VENV)/.run-stamp: pyproject.toml $(shell find src -not -name '*.pyc' -not -name __pycache__) $(VENV)/.base-stamp
	$(INSTALL_PROJECT) --compile-bytecode --reinstall-package toolroll .
	@touch $@

$(VENV)/pyvenv.cfg:
	@version=$$($(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11), sys.version.split()[0])') || \
		{ echo "toolroll needs Python 3.11 or newer; '$(PYTHON)' does not run. Try: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }; \
	[[ $$version == True* ]] || \
		{ echo "toolroll needs Python 3.11 or newer; '$(PYTHON)' is $${version#* }. Try: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }
	@if command -v uv >/dev/null; then \
		uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV); \
	else \
		$(PYTHON) -m venv $(VENV); \
	fi

$(BIN)/uv: requirements/uv.txt $(VENV)/pyvenv.cfg
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r $<
	@touch $@

pins: $(READY) ## write requirements/*.txt from pyproject.toml; UPGRADE=1 takes the newest versions
	UV='$(UV)' PYTHON=$(BIN)/python requirements/write
