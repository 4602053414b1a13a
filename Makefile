# Every target sets up what it needs in .venv; nothing but Python 3.11+ and make has to be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/python -m
PIP    := $(RUN) pip install --quiet --disable-pip-version-check
# The files that the tests last passed with, by their hashes; without the list, the newest that fit are taken.
LOCK   := $(wildcard requirements.lock)
# Tests start hundreds of processes, none of which should compile evenhand anew.
unexport PYTHONDONTWRITEBYTECODE
# Tests run in three processes, since many wait for programs that they start; numpy takes one thread in each.
TEST   := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) pytest

.PHONY: demo test test-all test-browser test-mitigation pictures study-small check bench bench-scale lock sbom dist check-supply
.PHONY: coverage mutants mutants-long coverage-study coverage-study-long fuzz fuzz-long faults faults-long clean help

help:           ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenhand needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(PIP) --editable .
	@touch $@

# The toys are a package of somebody else; only tests that start a process of their own put them on its path.
$(VENV)/.tested: $(BIN)/python pyproject.toml $(LOCK) $(wildcard tests/support/toys/*.toml tests/support/toys/*/*.py)
	$(if $(LOCK),$(PIP) --require-hashes --requirement $(LOCK),false) || { \
	  echo 'a file of requirements.lock cannot be had here: the newest versions that fit are taken instead'; \
	  $(PIP) 'pip>=25.1' && $(PIP) --editable '.[light]' --group dev; }
	$(PIP) --no-deps --no-build-isolation --editable .
	$(PIP) --no-deps --no-build-isolation --upgrade --target $(VENV)/toys ./tests/support/toys
	@touch $(VENV)/.installed $@

# Torch first and alone: pip takes a build for the CPU where an index has one (PIP_EXTRA_INDEX_URL names another index).
$(VENV)/.tested-all: $(VENV)/.tested $(VENV)/.browser
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[light,torch,aif360,tensorflow,catboost,dask,ray,spark,postgres,sql]' adbc-driver-sqlite --group notebook
	@touch $@

# A browser for the tests of pages: one that is on the path, or what playwright fetches; tests skip with a reason otherwise.
$(VENV)/.browser: $(VENV)/.tested
	$(PIP) --group browser
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null || $(RUN) playwright install chromium \
	  || echo 'no Chromium could be installed: tests of pages in a browser will be skipped'
	@touch $@

$(VENV)/.studied: $(VENV)/.installed
	$(PIP) --editable '.[aif360,fairlearn]'
	@touch $@

demo: $(VENV)/.installed  ## audit a small loan program with a planted bias; writes report.html
	$(BIN)/evenhand demo -o report.html

# The rules of the house are tested by `make check`.
test: $(VENV)/.tested     ## the tests of the core and the light extras
	$(TEST) -n 3 --dist worksteal -m 'not heavy and not slow and not minutes' --ignore=tests/architecture

test-all: $(VENV)/.tested-all  ## all tests, heavy extras and large simulations included
	$(TEST) -n 3 --dist worksteal -m 'not minutes'

test-mitigation: $(VENV)/.tested-all  ## each mitigation method on whole data sets, timed
	$(TEST) -m minutes --durations=0 -rA

test-browser: $(VENV)/.browser  ## the pages in a real browser: reports of five audits, charts, the what-if page
	$(TEST) tests/system/test_report_pages.py tests/system/test_report_browser.py \
	  tests/system/test_charts_browser.py tests/system/test_explore_browser.py

pictures: $(VENV)/.browser  ## the pictures of the README, taken of what the demonstration makes
	$(BIN)/python docs/images/make.py

study-small: $(VENV)/.studied  ## German and COMPAS, eight methods, ten splits: the tables of the Fairea paper beside ours
	$(BIN)/evenhand study studies/small.toml --paper --n-jobs 2

# Guided by coverage where atheris can be installed, at random otherwise.
$(VENV)/.fuzzed: $(VENV)/.tested
	$(PIP) --group fuzz || echo 'atheris cannot be had here: files are changed at random'
	@touch $@

fuzz: $(VENV)/.fuzzed     ## files that were changed thousands of times are read or refused in a sentence
	$(TEST) -q tests/fuzz
	$(RUN) tests.fuzz --inputs 20000

fuzz-long: $(VENV)/.fuzzed  ## the same with a million inputs; writes the table of the docs
	$(RUN) tests.fuzz --inputs 1000000 --docs

check: $(VENV)/.tested    ## lint, format, types, and the rules of the house
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(TEST) -q tests/architecture

.PHONY: faults faults-long
faults: $(VENV)/.tested   ## software that fails, signals, damaged ledgers and full disks: ten minutes of them
	$(BIN)/python -m tests.faults --json
faults-long: $(VENV)/.tested  ## all of them, and the tables of docs/reference/faults.md
	$(BIN)/python -m tests.faults --long --json --docs

bench: $(VENV)/.tested    ## the benchmarks; they print ratios and write benchmarks/results/*.json
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/decide.py
	$(BIN)/python benchmarks/baseline.py
	$(BIN)/python benchmarks/chance.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/transport.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/isolation.py
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/explain.py
	$(BIN)/python benchmarks/mine.py
	$(BIN)/python benchmarks/mine_log.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/repair.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/growth.py

# It needs the engines and clusters that `make test-all` installs.
bench-scale: $(VENV)/.tested-all  ## two workers over one, Dask and Ray, logs of 100 million rows: what is kept of what is promised
	$(BIN)/python benchmarks/scale.py

# Which test reaches which line, in build/coverage, which mutation testing reads too.
REACHED := build/coverage
# The packages of the kernel, as patterns with commas between them.
KERNEL  := */evenhand/runtime/*,*/evenhand/space/*,*/evenhand/statistics/*,*/evenhand/results/*
KERNEL  := $(KERNEL),*/evenhand/population/*,*/evenhand/subject/*,*/evenhand/texts/*,*/evenhand/scores/*

# Its tests need libraries that `make test` does without.
HEAVY   := */torch.py,*/catboost.py

# The plugin of pytest imports some of evenhand before the tests are measured: a second, short run has what imports run.
coverage: $(VENV)/.tested  ## lines and branches that the tests run; fails where the kernel has under 95 %
	mkdir -p $(REACHED) && rm -f $(REACHED)/*
	$(TEST) -n 3 --dist worksteal -m 'not heavy and not slow and not minutes' --cov --cov-context=test --cov-report= \
	  --junitxml=$(REACHED)/tests.xml
	$(RUN) coverage run --data-file=$(REACHED)/imports.db -m pytest -q tests/unit/runtime/test_random_streams.py
	$(RUN) coverage combine --keep --data-file=$(REACHED)/all $(REACHED)/tests.db $(REACHED)/imports.db
	$(RUN) coverage json --data-file=$(REACHED)/all -q -o $(REACHED)/kernel.json --include='$(KERNEL)' --omit='$(HEAVY)'
	$(RUN) tests.mutation.line_coverage $(REACHED)/kernel.json
	$(RUN) coverage report --data-file=$(REACHED)/all --skip-covered --fail-under=95 --include='$(KERNEL)' --omit='$(HEAVY)'

$(REACHED)/tests.db:
	$(MAKE) coverage

mutants: $(VENV)/.tested $(REACHED)/tests.db  ## change the code that decides, 50 times in each part: does a test notice?
	OMP_NUM_THREADS=1 $(RUN) tests.mutation --sample 50 --seconds 20 --docs

mutants-long: $(VENV)/.tested $(REACHED)/tests.db  ## the same 400 times in each part; hours
	OMP_NUM_THREADS=1 $(RUN) tests.mutation --sample 400 --seconds 60 --docs

coverage-study: $(VENV)/.tested  ## do intervals and verdicts hold their level? five seconds for each way to call a verb
	OMP_NUM_THREADS=1 $(RUN) tests.coverage_study --runs 1000 --seconds 5 --jobs 2 --docs

coverage-study-long: $(VENV)/.tested  ## the same with 1,000 runs of each; about an hour
	OMP_NUM_THREADS=1 $(RUN) tests.coverage_study --runs 1000 --jobs 2 --docs

# Supply chain: what is installed to test, what users get, and what is known against it.
lock: $(BIN)/python      ## write requirements.lock anew: the newest versions that fit, with hashes, for `make test`
	$(PYTHON) -m venv --clear $(VENV)/locking
	$(VENV)/locking/bin/python -m pip install --quiet --disable-pip-version-check uv
	echo '# The test environment, by `make lock`; `make test` takes these files where it can.' > $(VENV)/locking/lock
	$(VENV)/locking/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --extra light --group dev pyproject.toml \
	  >> $(VENV)/locking/lock
	mv $(VENV)/locking/lock requirements.lock
	rm -rf $(VENV)/locking

sbom: $(BIN)/python      ## write the bill of materials that the wheel holds anew, from pyproject.toml
	$(BIN)/python scripts/sbom.py

dist: $(VENV)/.tested    ## the source distribution and the wheel, the same bytes each time, with their SHA-256 sums
	$(BIN)/python scripts/sbom.py --check
	rm -rf dist
	umask 022 && $(RUN) build --no-isolation --outdir dist .
	cd dist && sha256sum -- *.tar.gz *.whl | tee SHA256SUMS

check-supply: $(BIN)/python  ## known vulnerabilities in requirements.lock: exit 1 for some, 3 where nobody could be asked
	$(PYTHON) -m venv $(VENV)/supply
	$(VENV)/supply/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(VENV)/supply/bin/python -m pip install --quiet --disable-pip-version-check --group supply
	$(VENV)/supply/bin/python scripts/check_supply.py

clean:          ## remove the environment and caches
	rm -rf $(VENV) benchmarks/.rivals .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
