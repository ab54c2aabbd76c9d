# Two commands: `make demo` and `make test`. Each creates its environment once and installs again only if needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo paper league docs test lint types imports browser unit coverage verify fuzz fuzz-full clean

help:  ## What can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tpstream needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --group dev
	touch $@

demo: $(VENV)/installed  ## The paper's four policies on Setting 1, reduced: table, logs, figure, report, page
	$(BIN)/tpstream compare scenarios/paper/setting-1.toml --horizon 2000 --runs 5 --log logs/demo --log-format arrow --figure logs/demo/regret.png --report logs/demo/report.html --force
	$(BIN)/tpstream view logs/demo/*.run-000.arrows --out logs/demo/explorer.html

paper: $(VENV)/installed  ## The whole paper again, 50 runs (4 minutes): docs/reproduction.md
	$(BIN)/tpstream paper

league: $(VENV)/installed  ## Every policy in every world that ships, 20 runs: the tables and the heat map of docs/policies.md
	$(BIN)/python docs/results.py league

docs: $(VENV)/installed-dev  ## The documentation as a site: build/docs/index.html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

# Types are checked beside the tests: what one of them does not use of the processors, the other does.
test: lint imports  ## All checks, as CI runs them
	$(MAKE) --no-print-directory --jobs=2 types unit

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed-dev
	$(BIN)/mypy

imports: $(VENV)/installed-dev
	$(BIN)/lint-imports

# Pages are tested in Chromium, which is a package of Debian; where it cannot be installed, these tests are skipped.
# Some tests run a second time as plain Python: what is compiled checks no bounds. The faults that are planted into
# loops run only there, since each would compile every loop anew. So do the kit and replay with all policies, which
# would take half a minute each to compile: compiled, they run with one policy for each family of handlers
# (tests/support/families.py), and with all in `make verify`.
INTERPRETED := tests/model/test_pull_rows.py tests/policies tests/looks/test_posteriors.py tests/looks/test_tests.py tests/log/test_contract.py tests/log/test_check.py tests/log/test_sparse.py tests/analysis/test_log_regret.py \
	tests/testing/test_conformance.py::test_policies tests/replay/test_replay.py tests/replay/test_randomisation.py \
	tests/scenario/test_applications.py::test_what_the_policies_make_of_a_lump \
	$(addprefix tests/engines/test_,draws.py time_order.py planted_faults.py parity.py parity_faults.py stepping.py)
PYTEST := $(BIN)/pytest -n auto --dist worksteal --durations=20 --durations-min=5

browser:
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium-headless-shell; } >/dev/null 2>&1 || \
		echo "Chromium is not installed and cannot be: the tests in a browser are skipped (tests/view/test_browser.py, test_live_browser.py and test_report_browser.py)"

unit: $(VENV)/installed-dev browser
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=brief $(PYTEST) $(INTERPRETED)

# Coverage cannot look into compiled code, so it joins the tests with compiled code and those as plain Python. It makes
# both some half as long again, so it is not a part of `make test`.
coverage: $(VENV)/installed-dev browser  ## Which lines the tests pass; at least 95 %
	COVERAGE_FILE=.coverage.compiled $(PYTEST) -m "not slow and not verify" --cov --cov-report= --cov-fail-under=0
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=brief COVERAGE_FILE=.coverage.interpreted \
		$(PYTEST) --cov --cov-report= --cov-fail-under=0 $(INTERPRETED)
	$(BIN)/coverage combine --quiet .coverage.compiled .coverage.interpreted
	$(BIN)/coverage report

verify: $(VENV)/installed-dev  ## What takes long: statistics with many runs, and a wider search for differences between the engines
	$(PYTEST) -m verify
	HYPOTHESIS_PROFILE=search $(PYTEST) -m "" tests/engines/test_parity.py
	HYPOTHESIS_PROFILE=search $(PYTEST) tests/policies/test_literal_policies.py tests/replay tests/log/test_formats.py tests/log/test_sparse.py
	$(BIN)/tpstream paper policies
	$(BIN)/tpstream paper impatient
	$(BIN)/tpstream paper trials

fuzz: $(VENV)/installed-dev  ## Ten minutes of changed files, random worlds, kills, signals and small disks
	$(BIN)/python tests/fuzz --minutes 10

fuzz-full: $(VENV)/installed-dev  ## The same for hours: all cases of the table in docs/reliability.md, which it writes
	HYPOTHESIS_PROFILE=search $(BIN)/python tests/fuzz --write

clean:  ## Remove the environment and what the tools left
	rm -rf $(VENV) build .coverage* .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
