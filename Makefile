# Two commands do everything on a machine with Python >= 3.11, git and make: `make demo` and `make test`.
# Of the interpreters that fit, the first that was built with optimisation: one that a version manager compiled without
# (pyenv's default) indexes a sixth slower. Distributions optimise theirs without saying so in its configuration.
FITS := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
IS_OPTIMISED := import sys, sysconfig; \
	sys.exit(sys.base_prefix != "/usr" and "--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or ""))
PYTHON ?= $(shell for check in '$(IS_OPTIMISED)' ''; do \
	for p in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c '$(FITS)' 2>/dev/null && $$p -c "$$check" && { echo $$p; exit; }; done; done)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
WORKERS ?= 2
# uv installs in a few seconds what takes pip half a minute; pip is always there.
UV := $(shell command -v uv 2>/dev/null)
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

.PHONY: help setup tools demo test check format lint types imports reference lock bench soak clean

help:  ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: $(STAMP)  ## Create .venv with the locked packages and this project.

$(RUNTIME): requirements.lock pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "CodePlane needs Python 3.11 or newer on PATH (or make PYTHON=/path/to/python)."; exit 2; }
	@echo "Setting up $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL) --require-hashes -r requirements.lock
	@echo "$(CURDIR)/src" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/codeplane.pth"
	@touch $@

$(STAMP): $(RUNTIME) requirements-dev.lock
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

tools: setup  ## Install what tests of other languages' runners use into .tools; says what is left out.
	@$(BIN)/python tests/support/toolchains.py

demo: $(RUNTIME)  ## Open a sample repository, start the server, drive it with a real MCP client, tell the story.
	@$(BIN)/python -m codeplane demo

check: setup format lint types imports  ## Format, lint, types, import rules, fast tests.
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test: setup lint types imports  ## Everything CI runs.
	@$(BIN)/python -m pytest -n $(WORKERS)

format: setup
	@$(BIN)/ruff format --quiet .

lint: setup
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .

types: setup
	@$(BIN)/mypy --no-error-summary

imports: setup
	@$(BIN)/lint-imports --no-cache > .imports.log || { cat .imports.log; exit 1; }

reference: setup  ## Write the generated reference pages again.
	@$(BIN)/python -m codeplane.surfaces.cli.reference docs/reference

lock: setup  ## Resolve and hash both lock files again.
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml --group dev -o requirements-dev.lock

bench: setup  ## Print ratios against floors and peers.
	@$(BIN)/python bench/startup.py
	@$(BIN)/python bench/load.py
	@$(BIN)/python bench/search.py --repo .
	@$(BIN)/python bench/shell_risk.py
	@$(BIN)/python bench/test_runs.py

soak: setup  ## The stated counts in full: all tests with ten times the examples, and the load run.
	@$(BIN)/python tests/support/toolchains.py --required
	@CODEPLANE_SOAK=10 $(BIN)/python -m pytest -n $(WORKERS)
	@$(BIN)/python bench/load.py

clean:  ## Remove everything that make created.
	rm -rf $(VENV) .tools .imports.log .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
