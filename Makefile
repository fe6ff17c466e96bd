# The only ways to do things here. Every recipe builds the environment it needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports unit fixtures docs schemas bench gpu clean

help:            ## this list
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[validate,sign]' --group dev
	touch $@

demo: $(VENV)/.ready       ## inspect and convert shipped checkpoints of several producers
	$(BIN)/python docs/demo.py

test: lint types imports unit   ## everything CI checks

lint: $(VENV)/.ready       ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready      ## mypy, strict
	$(BIN)/mypy

imports: $(VENV)/.ready    ## import-linter: the walls between rooms
	$(BIN)/lint-imports

unit: $(VENV)/.ready       ## pytest
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile  # tiny matrices: a process per core, not threads

fixtures: $(VENV)/.ready   ## rebuild the fixtures our own scripts make (producers' ones: fixtures/README.md)
	$(BIN)/python fixtures/build.py

schemas: $(VENV)/.ready    ## rewrite schemas/ from the tables
	$(BIN)/python -m eaglekit.cli.generate schemas

docs: $(VENV)/.ready       ## rewrite the generated pages of docs/
	$(BIN)/python -m eaglekit.cli.generate docs

gpu:             ## what needs a CUDA device, ten minutes on one card (PYTHON with torch for CUDA and pytest)
	$(PYTHON) -m pytest -m gpu --durations=0 tests/gpu

bench: $(VENV)/.ready      ## every figure of docs/speed.md, each beside what it is measured against (needs 11 GB of disk)
	$(BIN)/python benchmarks/convert.py
	$(BIN)/python benchmarks/drafting.py
	$(BIN)/python benchmarks/dequantise.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/kimi_block.py

clean:           ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
