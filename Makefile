# Everything that can be done with loadfactor's sources. Needs make and Python >= 3.11 (with venv) only.
#   make run    sets up and does the main job on the data that ships with the project
#   make test   sets up and runs every check
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
OUT := out
WORKERS ?= 2

.PHONY: help run test lint unit soak bench docs picture clean

help:
	@echo "make run    set up, then build a day, compare the policies, plan it and draw it (into $(OUT)/)"
	@echo "make test   set up, then run every check: ruff, import-linter, mypy, pytest"
	@echo "make soak   the long tests: random problems by the hundred thousand"
	@echo "make bench  the benchmark: time and distance from the bound, case by case"
	@echo "make docs   the documentation site, into docs/_build/html"
	@echo "make picture draw the picture of the README anew"
	@echo "make clean  remove everything that the other targets made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "loadfactor needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3 ..."; exit 2; }
	@echo "==> creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runs: $(BIN)/python pyproject.toml constraints.txt
	@echo "==> installing loadfactor and what it needs at run time into $(VENV), as pinned in constraints.txt"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.develops: $(VENV)/.runs
	@echo "==> installing the tools of the checks and of the documentation into $(VENV), as pinned in constraints.txt"
	@$(INSTALL) --editable '.[dev,docs]'
	@touch $@

# numba compares a cached function with its own file only, so a change in any file of a kernel discards the whole cache.
KERNELS := $(wildcard src/loadfactor/policies/*.py src/loadfactor/policies/fast/*.py) \
  $(wildcard src/loadfactor/control/planners/*.py src/loadfactor/replay/*.py src/loadfactor/audit/*.py)
$(VENV)/.compiled: $(VENV)/.runs $(KERNELS)
	@echo "==> compiling the decoders of fast, once (up to a minute)"
	@find src -name '*.nb[ic]' -delete
	@$(BIN)/loadfactor allocate src/loadfactor/bench/scenarios/mixed.yaml --policy fast --format json > /dev/null
	@$(BIN)/loadfactor replay --sample --days 1 --policies fast --bound --format json > /dev/null
	@$(BIN)/loadfactor audit --demo --no-replay --format json > /dev/null
	@touch $@

# The pages are tested in a real browser. Where none can be had, these tests are skipped and say so.
HAS_BROWSER := command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable
APT := DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20
$(VENV)/.browser: | $(BIN)/python
	@if ! { $(HAS_BROWSER); } > /dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "==> installing chromium for the tests of the pages"; \
	  $(APT) install --yes --no-install-recommends chromium > /dev/null 2>&1 || \
	  { $(APT) update && $(APT) install --yes --no-install-recommends chromium; } > /dev/null 2>&1 || true; \
	fi
	@if { $(HAS_BROWSER); } > /dev/null; then touch $@; \
	else echo "==> no chromium: the tests of the pages in a browser are skipped"; fi

run: $(VENV)/.compiled
	@mkdir -p $(OUT)
	@echo; echo "==> a day from the logs that ship with loadfactor becomes a problem"
	$(BIN)/loadfactor problem --sample --output $(OUT)/day.yaml --report $(OUT)/day-report.json
	@echo; echo "==> the seven scenarios: every policy beside the bound and the published figures"
	$(BIN)/loadfactor bench --quick
	@echo; echo "==> the plan of the day"
	$(BIN)/loadfactor allocate $(OUT)/day.yaml --output $(OUT)/plan.json
	$(BIN)/loadfactor check $(OUT)/day.yaml $(OUT)/plan.json
	@echo; echo "==> the day under two policies, as a page to look at"
	$(BIN)/loadfactor compare $(OUT)/day.yaml --policies fifo,fast --html $(OUT)/day.html
	@echo; echo "==> three days of a log in a virtual world, under three policies"
	$(BIN)/loadfactor replay --sample --days 3 --html $(OUT)/week.html
	@echo; echo "==> the audit of an invented week: what was wasted, and why"
	$(BIN)/loadfactor audit --demo --gpu-hour 2.50 --html $(OUT)/audit.html
	@echo; echo "Problem, plan and pictures are in $(OUT)/: open $(OUT)/audit.html, $(OUT)/day.html and $(OUT)/week.html in a browser."

test: lint unit

lint: $(VENV)/.develops
	@echo "==> ruff check";         $(BIN)/ruff check
	@echo "==> ruff format";        $(BIN)/ruff format --check
	@echo "==> import-linter";      PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/lint-imports
	@echo "==> mypy --strict";      $(BIN)/mypy

unit: $(VENV)/.develops $(VENV)/.compiled $(VENV)/.browser lint
	@echo "==> pytest, the examples of the documentation, in their order"
	@$(BIN)/python -m pytest docs
	@echo "==> pytest, the tests"
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not soak" tests

soak: $(VENV)/.develops $(VENV)/.compiled
	$(BIN)/python -m pytest -n $(WORKERS) -m soak tests

bench: $(VENV)/.compiled
	$(BIN)/loadfactor bench

docs: $(VENV)/.develops
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "the documentation is in docs/_build/html/index.html"

picture: $(VENV)/.compiled
	@mkdir -p $(OUT)
	$(BIN)/loadfactor problem --scenario training-heavy --output $(OUT)/training-heavy.yaml
	$(BIN)/loadfactor compare $(OUT)/training-heavy.yaml --policies fifo,full --svg docs/images/compared.svg

clean:
	rm -rf $(VENV) $(OUT) build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
