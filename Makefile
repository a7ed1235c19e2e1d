# Every target does its own set-up on a fresh machine: a Python 3.11+ is all it needs.
# The environment is .venv, pinned by constraints.txt; delete it to start over.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := PYTHON=$(PYTHON) sh scripts/setup.sh
PAGE := arroyo_nb/editor/static
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
RUN_NOTEBOOKS := --nbmake --nbmake-timeout=300
COPIES := $(NOTEBOOKS:%=build/%)
# Each worker has a Spark of its own. Much of what is tested waits: for a process to start,
# a clock, a browser. So three run at a time, also on two cores: two leave half a core
# idle. Which tests stay together: tests/scheduling.py.
BESIDE := -n 3 --dist loadfile --no-loadscope-reorder
SUITE := $(BESIDE) -m "not long" tests

# The families of long tests, each under half an hour, and what each proves:
# docs/how-to/run-the-long-tests.md. A test names its own: @pytest.mark.long("kills").
LONG := kills jobs outages topics edits feeds damages canaries paths soaks \
	queries windows scripts moments formats oracle notebooks cluster
LONG_TARGETS := $(LONG:%=long-%)

# Or each of the many processes of the tests would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo lab notebooks docs reference check test suite doctests covered test-long \
	$(LONG_TARGETS) bench bench-flink archive broker lint clean

# Runs the quickstart notebook on recorded flights, and says where to look at it.
demo: $(VENV)/.user archive
	@echo "running the quickstart notebook, cell by cell: 1 to 3 minutes"
	@$(BIN)/python scripts/run_notebooks.py --html build notebooks/00_quickstart.ipynb
	@echo "done: open build/00_quickstart.html, or try it yourself with: make lab"

# Opens copies, to be changed at will: the notebooks of the repository stay as they are.
# In a container one is root, and Jupyter wants to be told that this is meant.
lab: $(VENV)/.page $(COPIES)
	$(BIN)/jupyter lab --ip=127.0.0.1 $(if $(filter 0,$(shell id -u)),--allow-root) \
		build/notebooks/00_quickstart.ipynb

# A copy that is there is somebody's work and is left alone.
build/notebooks/%.ipynb: | notebooks/%.ipynb
	@mkdir -p $(@D)
	@cp notebooks/$*.ipynb $@

# Runs the notebooks in place: who reads them sees their outputs without a kernel.
notebooks: $(VENV)/.user archive
	@$(BIN)/python scripts/run_notebooks.py $(NOTEBOOKS)

# The pages of docs/reference that are made of the package's tables. They are committed;
# tests/unit/test_reference_pages.py fails where they are old.
reference: $(VENV)/.dev
	$(BIN)/python docs/reference_pages.py

# The pages, in build/docs; a warning is an error, and so is a dead link between pages.
docs: $(VENV)/.dev
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs
	@echo "done: open build/docs/index.html"

# For every edit: what needs no JVM, or one for a moment.
check: $(VENV)/.dev lint
	$(BIN)/python -m pytest --doctest-modules arroyo_nb
	$(BIN)/python -m pytest $(BESIDE) -m "not long" tests/unit tests/golden

# Short-lived JVMs: the second compiler would cost more than it saves.
check test suite covered $(LONG_TARGETS): export ARROYO_NB_JAVA_OPTS ?= -XX:TieredStopAtLevel=1
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 2 archive broker
	@sh scripts/chromium.sh
	@sh scripts/servers.sh
	@$(MAKE) --no-print-directory -j 2 suite lint doctests docs

suite: $(VENV)/.dev
	$(BIN)/python -m pytest $(SUITE)

doctests: $(VENV)/.dev
	$(BIN)/python -m pytest --doctest-modules arroyo_nb

# All tests under coverage: build/coverage says which test reaches which line, also in
# processes that it starts. For scripts/mutants.py and scripts/lost_lines.py.
covered: export COVERAGE_PROCESS_START := $(CURDIR)/tests/coverage.ini
covered: export COVERED_DATA := $(CURDIR)/build/covered/data
covered: export PYTHONPATH := $(CURDIR)/tests
covered: $(VENV)/.dev
	@rm -rf build/covered build/coverage; mkdir -p build/covered
	-$(BIN)/python -m pytest -p coverage_contexts --doctest-modules arroyo_nb
	-$(BIN)/python -m pytest -p coverage_contexts $(SUITE)
	@env -u COVERAGE_PROCESS_START $(BIN)/coverage combine --quiet \
		--rcfile=tests/coverage.ini --data-file=build/coverage build/covered/*

# One after the other, whatever becomes of those before.
test-long: $(VENV)/.dev
	@failed=""; for family in $(LONG); do \
		$(MAKE) --no-print-directory long-$$family || failed="$$failed $$family"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# One by itself, as in: make long-kills
$(LONG_TARGETS): long-%: $(VENV)/.dev
	@$(MAKE) --no-print-directory archive broker
	@sh scripts/chromium.sh
	@sh scripts/servers.sh
	$(BIN)/python -m pytest --durations=5 --long $* $(BESIDES) tests
long-notebooks: BESIDES := $(RUN_NOTEBOOKS) $(NOTEBOOKS)

# What halves the start of Spark. Nothing needs it, and a first notebook makes it too.
archive: $(VENV)/.user
	-@$(BIN)/python -m arroyo_nb.engine.archive

# Kafka, downloaded once, and what halves its start: only the tests want it unasked.
broker: $(VENV)/.dev
	-@$(BIN)/python -m arroyo_nb.kafka.local.archive

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	@sh scripts/chromium.sh
	@status=0; for name in startup plan first_row batches throughput updating udf expressions events formats formats_protobuf \
		kafka real_time jobs editor screen; do \
		$(BIN)/python -m benchmarks.$$name || status=1; done; exit $$status

# Not among those: it installs PyFlink, 850 MB, in an environment of its own.
bench-flink: $(VENV)/.dev
	$(BIN)/python -m benchmarks.flink

# Two stamps: what a user needs, and what the tests need on top.
$(VENV)/.user: pyproject.toml constraints.txt scripts/setup.sh
	@$(SETUP) browser
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt scripts/setup.sh
	@$(SETUP) browser,job,redis,kafka,feeds,protobuf,dev,docs
	@touch $@ $(VENV)/.user

# An editable install copies the modules of the page: after a change once more.
$(VENV)/.page: $(VENV)/.user scripts/labextension.py $(wildcard $(PAGE)/*.js $(PAGE)/*/*.json)
	@$(BIN)/python scripts/labextension.py $(VENV)/share/jupyter/labextensions/arroyo-nb
	@touch $@

clean:
	rm -rf $(VENV) build dist
