# What a person or a machine types in this project. `make` alone lists it.
#
# House rules. Every target works on a fresh machine with nothing but make and Python >= 3.11. Set-up is a stamp file that
# depends on what it installs, so a second call starts at once. Nothing is installed outside .venv and .bench. What the caller's
# environment says of Python and pip (PYTHONPATH, PIP_CONSTRAINT, …) changes neither what is installed nor what is tested.

# Makes the environments; one that is there keeps its Python until `make clean`.
PYTHON ?= python3
# More extras for the development environment: `make test EXTRAS=torch` runs the tests that need PyTorch, too.
EXTRAS ?=
# Options that go on to the program: `make demo ARGS="--framework torch"`, `make test ARGS="-k csv"`.
ARGS ?=
# Tests run in one process more than there are cores; past eight, starting them costs more than they save.
JOBS ?= auto

# .ci/run has one without extras and one with them: make VENV=….
VENV := .venv
BENCH := .bench
BIN := $(VENV)/bin

comma := ,
DEV := dev,report$(if $(EXTRAS),$(comma)$(EXTRAS))
RUN_READY := $(VENV)/.ready-to-run
DEV_READY := $(VENV)/.ready-for-$(subst $(comma),-,$(DEV))
DOCS_READY := $(VENV)/.ready-for-docs
BENCH_READY := $(BENCH)/.ready
# What the larger examples need: make wav, make alexnet, make waiting, make elastic.
EXAMPLES := image,report,tfrecord,torch
EXAMPLES_READY := $(VENV)/.ready-for-examples-$(subst $(comma),-,$(EXAMPLES))
NEEDS := pyproject.toml constraints-dev.txt

# Both names: pip before 25.3 reads the first for the build environment, later ones the second.
PINNED := PIP_CONSTRAINT=constraints-dev.txt PIP_BUILD_CONSTRAINT=constraints-dev.txt PIP_DISABLE_PIP_VERSION_CHECK=1

# Each would put other packages before those of the environment, or beside it.
unexport PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER
# With it each of the thousands of processes that tests start would compile all of headrace anew.
unexport PYTHONDONTWRITEBYTECODE

CODE := src tests conftest.py $(wildcard benchmarks examples docs/building)

.PHONY: help setup demo wav alexnet waiting elastic test check format lint types layers schemas doctest docs thorough stress exits fuzz ranks chaos bottlenecks conformance bench faults idioms handoff autotune gpu stats-cost import-time dist clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(DEV_READY)  ## make the development environment (.venv); the targets below do it themselves

demo: $(RUN_READY)  ## a training job on CSV files becomes faster, and why: headrace-report.html
	$(BIN)/headrace demo $(ARGS)

wav: $(EXAMPLES_READY)  ## a classifier of sounds, its input in two forms, and what the steps of each waited for
	$(BIN)/python -m examples.wav_classifier $(ARGS)

alexnet: $(EXAMPLES_READY)  ## fine-tune AlexNet on images, loaded sequentially and in parallel: build/alexnet.png
	$(BIN)/python -m examples.alexnet_finetune $(ARGS)

waiting: $(EXAMPLES_READY)  ## why the GPU of three jobs waits, and what each piece of advice brings
	$(BIN)/python -m examples.waiting $(ARGS)

# Other libraries are asked for the same where they are installed: make bench has them.
elastic: $(EXAMPLES_READY)  ## kill one of 8 processes of a training, go on with 6, 12 and 1, the same batches: build/elastic.html
	$(BIN)/python -m examples.elastic $(if $(wildcard $(BENCH_READY)),--peers $(BENCH)/bin/python) $(ARGS)

test: $(DEV_READY)  ## all tests, in parallel, warnings as errors
	$(BIN)/pytest -n $(JOBS) --maxprocesses=8 --dist=worksteal $(ARGS)

# The long runs: minutes to an hour, before an issue is resolved, not at each change.
thorough: $(DEV_READY)  ## the laws on thousands of random plans instead of dozens
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n $(JOBS) --maxprocesses=8 --dist=worksteal -o faulthandler_timeout=3600 tests/laws $(ARGS)

stress: $(DEV_READY)  ## 8 producers and 8 consumers on the queues, 10,000 rounds of closes, cancels and failures
	$(BIN)/python -m tests.stress.queues $(ARGS)

exits: $(DEV_READY)  ## programs that end while threads of theirs are anywhere inside headrace
	$(BIN)/python -m tests.stress.exits $(ARGS)

fuzz: $(DEV_READY)  ## damaged files of every format: ten minutes each
	$(BIN)/python -m tests.fuzz $(ARGS)

ranks: $(DEV_READY)  ## random plans dealt to processes, some killed, that others go on from: ten minutes
	$(BIN)/python -m tests.ranks $(ARGS)

chaos: $(DEV_READY)  ## random plans read while processes die, stop and are late, and read on by others: five minutes
	$(BIN)/python -m tests.chaos $(ARGS)

# Told by time: on a machine that does nothing else.
bottlenecks: $(DEV_READY)  ## sixty pipelines with a planted cause of waiting: is it named, does the advice bring what it promises: ten minutes
	$(BIN)/python -m tests.bottlenecks $(ARGS)

check: format lint types layers schemas doctest  ## formatting, lint, types, layers, docstring examples

format: $(DEV_READY)
	$(BIN)/ruff format --check .

lint: $(DEV_READY)
	$(BIN)/ruff check .

types: $(DEV_READY)
	$(BIN)/mypy $(CODE)

layers: $(DEV_READY)
	$(BIN)/lint-imports --no-logo

# The files that only the project's host reads, against the schemas that its makers publish; no network is needed.
schemas: $(DEV_READY)
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

# What belongs to an extra is skipped where the extra is not installed (conftest.py; .ci/run has them).
doctest: $(DEV_READY)
	$(BIN)/pytest --doctest-modules --doctest-ignore-import-errors src

# Warnings are errors. The pages of the reference are made by docs/building/hooks.py while it builds.
docs: $(DOCS_READY)  ## the site with the reference: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

conformance: $(BENCH_READY)  ## random chains in tf.data and in headrace, element for element: 20,000 take about 20 minutes
	$(BENCH)/bin/python -m tests.conformance $(ARGS)

bench: $(BENCH_READY)  ## against peers, in an environment of its own (.bench): docs/benchmarks.md
	$(BENCH)/bin/python benchmarks/run.py $(ARGS)

faults: $(BENCH_READY)  ## headrace and peers under the same faults, each in processes of its own: docs/reliability.md
	$(BENCH)/bin/python benchmarks/faults $(ARGS)

idioms: $(BENCH_READY)  ## programs as people write them, beside the plain loop and peers: ARGS="--quick --no-peers --only flat_map"
	$(BENCH)/bin/python benchmarks/idioms $(ARGS)

handoff: $(BENCH_READY)  ## what a hand-off costs, beside queue.Queue and TensorFlow's FIFOQueue
	$(BENCH)/bin/python benchmarks/handoff.py $(ARGS)

autotune: $(BENCH_READY)  ## what AUTOTUNE reaches in five seconds, beside the best setting by hand and tf.data's AUTOTUNE
	$(BENCH)/bin/python benchmarks/autotune $(ARGS)

gpu: $(EXAMPLES_READY)  ## the documents' jobs trained on a GPU, their input in four forms: how busy it is
	$(BIN)/python benchmarks/gpu $(ARGS)

stats-cost: $(RUN_READY)  ## what the statistics cost that are always on, with a bound of the error: a quarter of a minute
	$(BIN)/python benchmarks/stats_cost.py $(ARGS)

# As installed, with its bytecode on the disk, even where the environment asks Python to write none.
import-time: $(RUN_READY)  ## what a program waits for before its first batch, part by part, each with its bound
	@$(BIN)/python -m compileall -q src benchmarks/import_time.py
	@$(BIN)/python -m benchmarks.import_time

# In an environment of its own, with the newest tools: an index refuses what older ones made. The wheel is installed and used there.
dist: | build/release/bin/python  ## what a release uploads: an sdist and a wheel in dist/, checked
	rm -rf dist
	@build/release/bin/python -m pip install --quiet --disable-pip-version-check --upgrade build twine
	build/release/bin/python -m build --quiet
	build/release/bin/python -m twine check --strict dist/*
	@build/release/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall dist/*.whl
	cd build && release/bin/headrace --version

# data/ stays: beside the demo's files there may be some of your own.
clean:  ## remove environments, caches and reports; data/ stays
	rm -rf $(VENV) .venv-extras $(BENCH) build dist headrace-report.html
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments ------------------------------------------------------------------------------------------------

$(RUN_READY): $(NEEDS) | $(BIN)/python
	@echo "Installing headrace into $(VENV). This happens once and takes a minute or two."
	@$(PINNED) $(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

$(DEV_READY): $(NEEDS) | $(BIN)/python
	@echo "Installing headrace with [$(DEV)] into $(VENV). This happens once and takes a minute or two."
	@$(PINNED) $(BIN)/python -m pip install --quiet --editable '.[$(DEV)]'
	@touch $@ $(RUN_READY)

$(EXAMPLES_READY): $(NEEDS) | $(BIN)/python
	@echo "Installing headrace with [$(EXAMPLES)] into $(VENV). This happens once and takes some minutes."
	@$(PINNED) $(BIN)/python -m pip install --quiet --editable '.[$(EXAMPLES)]'
	@touch $@ $(RUN_READY)

$(DOCS_READY): $(NEEDS) | $(BIN)/python
	@echo "Installing headrace with [docs] into $(VENV). This happens once and takes a minute."
	@$(PINNED) $(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@ $(RUN_READY)

# No constraints here: the peers pin what they need in benchmarks/requirements.txt.
$(BENCH_READY): pyproject.toml benchmarks/requirements.txt | $(BENCH)/bin/python
	@echo "Installing headrace and its peers into $(BENCH). This happens once and takes some minutes."
	@PIP_CONSTRAINT= $(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements.txt --editable '.[report]'
	@touch $@

%/bin/python:
	@command -v $(PYTHON) >/dev/null 2>&1 \
	    || { echo "headrace needs Python 3.11 or newer, and '$(PYTHON)' was not found. Install it, or name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "headrace needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	    || { echo "'$(PYTHON)' cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $*
