# Everything happens in .venv, which each target sets up when it must. Needs python3 (with venv), git and make.
PYTHON ?= python3
RUN := .venv/bin/python -m
STAMP := .venv/.installed
PIP := $(RUN) pip install --quiet --disable-pip-version-check
PACKAGES := skill_health router effectiveness

.DELETE_ON_ERROR:
# Tests and what they start are compiled once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: demo test gate test-all real-parts golden lint format docs docs-check site bench constraints lock clean

# Agent programs are large: clones with the same versions share them.
AGENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/skill-health-agents/$(shell cat tests/agents/* | cksum | tr -d ' ')
PARTS := SKILL_HEALTH_AGENTS=$(AGENTS) SKILL_HEALTH_BROWSER=$(CURDIR)/build/browser BASES=$(dir $(AGENTS))bases

demo: $(STAMP)
	@$(RUN) scripts.demo

test: $(STAMP)
	@$(RUN) scripts.run_tests -m "not slow and not real and not exhaustive"

# What a change must pass beyond the quick tests: the slow and real cases in its reach.
gate: real-parts
	@$(PARTS) $(RUN) scripts.gate

# Everything, and a line in the history that says so.
test-all: real-parts
	$(RUN) scripts.run_tests --hypothesis-profile thorough -m "not real and not bubblewrap"
	SKILL_HEALTH_REAL=1 $(PARTS) $(RUN) scripts.run_tests -m "real or bubblewrap" -rs
	@$(RUN) scripts.gate --record

real-parts: $(STAMP)
	$(PIP) --no-deps --requirement tests/requirements-real.txt
	@bash scripts/install_sandbox.sh
	@bash scripts/install_agents.sh $(AGENTS)
	@bash scripts/install_browser.sh
	@bash scripts/install_actionlint.sh

lint: $(STAMP)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

format: $(STAMP)
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

# What every command prints and writes, after a change of it that is meant; shows the difference.
golden: $(STAMP)
	@$(RUN) scripts.golden

docs: $(STAMP)
	.venv/bin/python -m scripts.docs

docs-check: $(STAMP)
	.venv/bin/python -m scripts.docs --check

# The documentation as a site below build/site; a link that leads nowhere fails it.
site: $(STAMP)
	$(RUN) scripts.site

bench: $(STAMP)
	$(RUN) benchmarks

# Raises every pin to the newest release; run `make lock` and the tests afterwards.
constraints:
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,bench,embed,acp,mcp,ray,report,server]'
	build/constraints/bin/python -m pip freeze --exclude skill-health > constraints.txt
	rm -rf build/constraints

# Writes the pins that an installation takes into locks/, with hashes; run it after `make constraints`.
lock:
	bash scripts/lock.sh $(PYTHON)

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests benchmarks scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The build back end is installed first, so that it too is the pinned one.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "skill-health needs Python 3.11 or later; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(PIP) --constraint constraints.txt hatchling editables
	$(PIP) --constraint constraints.txt --no-build-isolation --editable '.[dev,bench,embed,acp,mcp,report,server]'
	@touch $@
