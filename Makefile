# Two commands do everything on a machine with python3 (3.11 or newer), pip and make:
#   make demo    make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA ?= $(EVERYLABEL_DATA)

.PHONY: help setup demo check test test-all test-browser test-cluster dist dist-all bench clean

help:
	@echo "make demo      fit on the embedded sample, show results by band and the tags of new texts"
	@echo "make test      ruff, mypy and the tests of every promise: a few minutes"
	@echo "make test-all  the same with the long tests too"
	@echo "make test-browser  the page in a real Chromium (apt-get install chromium)"
	@echo "make test-cluster  clusters of several nodes on this machine, by Ray, which it installs"
	@echo "make dist      build wheel and sdist, and run the demo from each in a fresh environment, without extras"
	@echo "make dist-all  the same with each extra: several GB, for a while"
	@echo "make setup     make $(VENV) with the everylabel command in it (demo and test do this by themselves)"
	@echo "make bench     run the benchmarks on the data sets in DATA=FOLDER; writes benchmarks/results"
	@echo "make clean     remove $(VENV) and the caches"

setup: $(STAMP)

# The stamp is made last: an interrupted set-up runs again.
$(STAMP): pyproject.toml constraints.txt
	@echo "== set-up: $(VENV), with the versions in constraints.txt (a minute or two, once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "everylabel needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
# Some systems ship venv without pip in it; their own pip then installs into the environment from outside.
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip --clear $(VENV)
	@if $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'; \
	else \
		$(PYTHON) -m pip --python $(BIN)/python install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'; \
	fi
	@touch $@

demo: setup
	@echo "== everylabel demo"
	@$(BIN)/everylabel demo

# Groups of tests side by side, each in one worker (tests/conftest.py); threads that wait must not spin then.
PYTEST := OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder

check: setup
	@echo "== ruff check"
	@$(BIN)/ruff check
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check
	@echo "== mypy"
	@$(BIN)/mypy

test: setup check
	@echo "== pytest"
	@$(PYTEST)

test-all: setup check
	@echo "== pytest, with the long tests"
	@$(PYTEST) -m 'not browser'

# The page in a real browser. Where it may, it installs one; where not, it says how.
test-browser: setup
	@echo "== pytest, the page in Chromium"
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || test -n "$$EVERYLABEL_CHROMIUM" || \
		{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
		{ echo "test-browser needs Chromium: sudo apt-get install chromium, or EVERYLABEL_CHROMIUM=PATH"; exit 1; }
	@OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n2 --dist worksteal -m browser tests/browser

# On clusters of several nodes on this machine, with what is killed there. Ray is installed for it.
test-cluster: setup
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,ray]'
	@echo "== pytest, on Ray"
	@OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n0 -m 'slow or not slow' tests/distributed

# As others get it. The wheel is built from the sdist; setuptools is there, so that nothing is fetched for it.
dist: setup
	@echo "== build"
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	@echo "== wheel and sdist in a fresh environment"
	@PYTHON=$(PYTHON) $(BIN)/python -m benchmarks.run.install $(INSTALL)

dist-all: INSTALL := --extras
dist-all: dist

bench: setup
	@test -n "$(DATA)" || { echo "bench needs the folder of the data sets: make bench DATA=FOLDER"; exit 2; }
	@$(BIN)/python -m benchmarks --data "$(DATA)"

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
