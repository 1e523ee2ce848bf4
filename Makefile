# Every target first makes .venv if it is missing, so a fresh clone needs only Python 3.11 and make.
PYTHON ?= python3
CORES ?= 2
VENV := .venv
READY := $(VENV)/.ready
DEVELOPER := $(VENV)/.ready-developer
WRITER := $(VENV)/.ready-writer
PAGE := results/report/demo/assembly.html
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
# Versions that are known to work together; `make env LOCK=` ignores them, `make lock` renews them.
LOCK ?= envs/lock.txt
CONSTRAINT := $(addprefix --constraint ,$(wildcard $(LOCK)))
# TORCH=cpu installs PyTorch without CUDA, which for Linux only PyTorch's own index has.
TORCH ?=
TORCH_CPU := https://download.pytorch.org/whl/cpu
# Without a compiler, packages that are compiled on installation are left out.
comma := ,
EXTRAS := all$(comma)graph$(if $(shell command -v c++ g++ clang++),$(comma)gco$(comma)workflow)
BUILDER = $(firstword $(shell command -v podman docker))
# If the lock cannot be installed, versions that pyproject.toml permits are used, unless LOCK was given.
install = $(PIP) $(CONSTRAINT) --editable '$(1)'$(if $(and $(CONSTRAINT),$(filter file,$(origin LOCK))), || { echo \
	"environment: the lock does not fit here; the newest versions that pyproject.toml permits are taken"; $(PIP) --editable '$(1)'; })
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# A target must fail if any command of a pipe fails.
SHELL := /bin/bash -o pipefail

# Workers run whole files in the order of tests/conftest.py; by default, files with most tests would come first.
BY_FILE := --dist loadfile --no-loadscope-reorder

# The revision that `make bench` compares with.
BEFORE ?= HEAD~1

.PHONY: help env lock container docs demo test test-lab test-long paper-small faults bench bench-answers claims comparison labelled moments trained graphs cluster-test test-page pictures lint clean

help:
	@echo "make env    the environment in .venv; TORCH=cpu without CUDA, LOCK= with the newest versions"
	@echo "make lock   renews envs/lock.txt, envs/oldest.txt and the pins of envs/*.yaml"
	@echo "make container  an image of the environment and the workflow, with podman or docker; TORCH=cpu without CUDA"
	@echo "make docs   outputs of the notebooks, then the documentation as a site, in build/docs"
	@echo "make demo   environment, then the whole pipeline on synthetic clips; prints the table"
	@echo "make test   environment, then every test of the package, and the workflow from videos to a table"
	@echo "make test-lab  tests of benchmarks and of other papers' methods"
	@echo "make test-long  more whole workflows, from every form of input to tables, pages and bundles; ten minutes"
	@echo "make paper-small  every table and figure of the paper on synthetic clips, in a small setting"
	@echo "make faults kills the demo at 30 random moments, fills disks"
	@echo "make bench  the demo, its key steps, a table and a plan, compared with the revision BEFORE"
	@echo "make bench-answers  every recipe on every development task, for benchmarks/report/answers.md; two hours on 2 cores"
	@echo "make comparison  all methods on the same videos, for benchmarks/report/comparison.md"
	@echo "make labelled  what a few annotated videos are worth, on the folder REAL_RECORDINGS, for benchmarks/report/labelled.md"
	@echo "make moments   what answers about single moments are worth, on the folder REAL_RECORDINGS, for benchmarks/report/moments.md"
	@echo "make trained  RGWOT with short and with the paper's settings, on the folder REAL_RECORDINGS, for benchmarks/report/answers.md"
	@echo "make graphs  every learner of task graphs on twelve recipes; GRAPHS_OPTIONS=--pixels also from pixels"
	@echo "make claims  the paper's claims on eight development tasks, for benchmarks/report/claims.md"
	@echo "make test-page  tests the page of the demo in a headless Chromium, which it installs on Debian and Ubuntu"
	@echo "make pictures   the same, and writes the pictures of the guide to docs/images"
	@echo "make cluster-test   runs the demo on a single-node Slurm; needs root and installs Debian packages"
	@echo "make lint   ruff, snakefmt, snakemake --lint, mypy and TypeScript"
	@echo "make clean  removes files of builds, tests and linters; keeps results and the environment"

env: $(READY)

$(READY): pyproject.toml $(wildcard $(LOCK))
	@echo "environment: making $(VENV), once; a few minutes, most of it PyTorch"
	$(PYTHON) -m venv $(VENV)
	$(if $(filter cpu,$(TORCH)),$(PIP) $(CONSTRAINT) --no-deps --index-url $(TORCH_CPU) torch torchvision)
	$(if $(findstring gco,$(EXTRAS)),@echo "environment: gco-wrapper contains gco-v3.0$(comma) for research only; without: make env EXTRAS=all$(comma)graph (THIRD_PARTY.md)",@echo "environment: no C++ compiler here; without gco-wrapper graph cuts are solved exactly, and Python 3.14 gets no Snakemake")
	@$(call install,.[$(EXTRAS)])
	@touch $@

$(DEVELOPER): $(READY)
	@echo "environment: adding what tests and linters need"
	@$(call install,.[dev$(comma)$(EXTRAS)])
	@touch $@

$(WRITER): $(READY)
	@echo "environment: adding what the site is made with"
	@$(call install,.[docs])
	@touch $@

# envs/lock.txt is for all platforms and Python 3.11 to 3.14, envs/oldest.txt for Python 3.11 on Linux.
lock: $(DEVELOPER)
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 $(COMPILE) --output-file envs/lock.txt
	uv pip compile pyproject.toml --extra all --extra gco --extra graph --resolution lowest-direct --python-version 3.11 --python-platform linux $(COMPILE) --output-file envs/oldest.txt
	python envs/pin.py
lock: COMPILE := --upgrade --no-annotate --quiet --custom-compile-command "make lock"

container:
	@test -n "$(BUILDER)" || { echo "container: found neither podman nor docker; install one of them" >&2; exit 1; }
	$(BUILDER) build --build-arg TORCH=$(or $(TORCH),cuda) --tag rgwot --file Containerfile .

# NOTEBOOKS= leaves the outputs of notebooks as they are; `reproduce` trains, which takes longest.
NOTEBOOKS ?= annotate deviations find reproduce table

docs: $(WRITER)
	python docs/options.py
	$(if $(NOTEBOOKS),python docs/notebooks.py $(NOTEBOOKS))
	python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "the site is build/docs/index.html"

demo: $(READY)
	@echo "demo: synthetic clips, features, training, key steps, scores, table; three to four minutes on 2 cores"
	snakemake --cores $(CORES) -- demo
	@rgwot show results/tables/demo.csv --procedures results/keysteps/rgwot-plus/consensus/demo/assembly/seed0
	@echo "To look at it, open results/report/demo/assembly.html in a browser."

test: $(DEVELOPER)
	OMP_NUM_THREADS=1 pytest -n $(CORES) $(BY_FILE) --ignore tests/benchmarks

test-lab: $(DEVELOPER)
	OMP_NUM_THREADS=1 pytest -n $(CORES) $(BY_FILE) tests/benchmarks

# Further whole workflows, which would make `test` six minutes longer.
test-long: $(DEVELOPER)
	OMP_NUM_THREADS=1 pytest -n $(CORES) $(BY_FILE) -m long tests/workflow tests/test_notebook.py tests/window/test_whole_window.py

# `RGWOT_KILLS=5 make faults` is shorter.
faults: export RGWOT_KILLS ?= 30
faults: $(DEVELOPER)
	OMP_NUM_THREADS=1 pytest -n $(CORES) $(BY_FILE) -m long tests/faults tests/window/test_window_kills.py

# The clips last seconds, in the layouts of the real datasets; takes a quarter of an hour on two cores.
paper-small: $(READY)
	tests/paper_small.sh results/paper-small $(CORES)

# Wall and CPU time of the demo, its key steps, a table and a plan, compared with BEFORE; run it on an idle machine.
bench: $(DEVELOPER)
	python benchmarks/speed.py --before $(BEFORE) --cores $(CORES)

# To choose a method, use ANSWERS_OPTIONS='--split choose'.
bench-answers: $(READY)
	python benchmarks/answers.py --cores $(CORES) $(ANSWERS_OPTIONS)

# All methods on the same videos, and the tables of benchmarks/report/comparison.md.
comparison: $(READY)
	python benchmarks/comparison.py --cores $(CORES)

# F1 against the number of annotated videos, by our methods and peers, for benchmarks/report/labelled.md; takes one to
# two hours.
labelled: $(READY)
	@$(call install,.[peers])
	python benchmarks/labelled.py $(LABELLED_OPTIONS)
	python benchmarks/changed.py

# F1 against the number of answers about moments, for benchmarks/report/moments.md; takes one to two hours.
moments: $(READY)
	python benchmarks/moments.py $(MOMENTS_OPTIONS)

# RGWOT on recordings of people, for benchmarks/report/answers.md; takes hours without a GPU.
trained: $(READY)
	python benchmarks/trained.py $(TRAINED_OPTIONS)

# Learners of task graphs, for benchmarks/report/graphs.md; with --pixels, 36 encoders are trained in an hour.
graphs: $(READY)
	python benchmarks/graphs.py --cores $(CORES) $(GRAPHS_OPTIONS)

# The paper's claims on synthetic tasks, for benchmarks/report/claims.md.
claims: $(READY)
	python benchmarks/claims.py --cores $(CORES)

# `make test` skips these tests without Chromium; here Chromium is installed, and the page of the demo is tested, too.
test-page: $(DEVELOPER)
	@command -v chromium chromium-browser google-chrome >/dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install -y chromium; }
	snakemake --cores $(CORES) -- $(PAGE)
	RGWOT_PAGE=$(PAGE) OMP_NUM_THREADS=1 pytest --log-cli-level=INFO tests/reporting/test_page*.py

pictures: export RGWOT_PICTURES := docs/images
pictures: test-page

# This needs root and apt, and changes /etc/slurm while it runs, so it is not part of `test`.
cluster-test: $(DEVELOPER)
	OMP_NUM_THREADS=1 pytest -m long tests/cluster

# TypeScript checks the page's script by the types in its comments; it comes from npm, and Node from PyPI.
TSC := build/typescript/node_modules/typescript/lib/tsc.js
TYPESCRIPT := 5.9.3

$(TSC): $(DEVELOPER)
	npm install --prefix build/typescript --no-save --no-audit --no-fund --silent typescript@$(TYPESCRIPT)

lint: $(DEVELOPER)
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	mypy
	snakemake --lint
	snakemake --lint --snakefile workflow/Snakefile
	@$(MAKE) --no-print-directory $(TSC) || echo "lint: without TypeScript: found no npm, or npm could not fetch it"
	@test ! -f $(TSC) || node $(TSC) --project tests/reporting/page_types

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache
