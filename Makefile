# `make demo` shows what discreet does; `make test` proves it.
# `make oracles` holds the audit against all worlds of thousands of tiny tables.
# `make questions` asks every form 10,000 random questions, and compares with the truth.
# `make test-lowest` tests with the lowest versions of all libraries that are allowed.
# `make package` builds what is uploaded, twice the same, and tries it where no source lies.
# `make faults` kills what writes at every call in turn, or has the call fail.
# `make fuzz` gives the command line changed files and questions for an hour, or FUZZ_MINUTES.
# `make papers` runs all experiments again, stores what they find, and writes their rows into docs/papers:
# a file of ACS persons (ACS=) and the trees of the sequential paper's authors (TREES=) add rows.
# `make docs` builds the site into docs/_build/html.
# All need only Python >= 3.11 with venv; everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
BIN := $(VENV)/bin
JOBS ?= $(shell expr $$(nproc) + 1)
# tests that between them call nearly all kernels
COMPILING := every_form_is_measured or rows_are_in_an_order or from_disk_with_little_memory \
	or few_people_at_a_time
# or every process of the tests would compile all modules again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-lowest package browser oracles questions faults fuzz papers docs lint bench clean

demo: $(VENV)/installed
	$(BIN)/discreet demo

test: $(VENV)/installed-dev browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	# one process compiles kernels while types are checked, or every worker would for itself
	$(BIN)/mypy & types=$$!; \
		$(BIN)/pytest -k '$(COMPILING)'; tested=$$?; \
		wait $$types && exit $$tested
	# whoever asks a cluster mostly waits, and does so beside the rest; of the rest, each process
	# has a core, and threads of their own would only wait for each other
	$(BIN)/pytest -m spark > $(VENV)/spark.log 2>&1 & spark=$$!; \
		POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
		$(BIN)/pytest -n $(JOBS) --dist worksteal -m 'not spark'; rest=$$?; \
		wait $$spark; clusters=$$?; cat $(VENV)/spark.log; \
		test $$rest -eq 0 -a $$clusters -eq 0

test-lowest: $(LOWEST)/installed-dev
	$(LOWEST)/bin/pytest -n $(JOBS) --dist worksteal -m 'not spark'
	$(LOWEST)/bin/pytest -m spark

package: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf dist
	$(BIN)/python -m build --outdir dist/again > /dev/null
	$(BIN)/python -m build --outdir dist > /dev/null
	for made in dist/*.*; do cmp $$made dist/again/$${made#dist/} || exit 1; done
	rm -rf dist/again
	$(PYTHON) -m venv --clear $(VENV)/package
	$(VENV)/package/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	place=$$(mktemp -d) && tried=$$(pwd)/$(VENV)/package/bin/discreet && cd $$place \
		&& $$tried demo && rm -r $$place

# the studio is tried in Debian's Chromium: whoever is root gets it, others are told
browser:
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get > /dev/null; then \
		echo "Installing Debian's chromium, in which the studio is tried."; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else echo "No chromium here: tests of the studio in a browser are skipped. As root: apt-get install chromium"; fi

oracles: $(VENV)/installed-dev
	PYTHONPATH=tests:tests/principles $(BIN)/python -m oracles --jobs $(JOBS)

questions: $(VENV)/installed-dev
	PYTHONPATH=tests $(BIN)/python -m questioning --jobs $(JOBS)

faults: $(VENV)/installed-dev
	PYTHONPATH=tests $(BIN)/python -m faults

# round after round draws anew, until the time is over or a round finds something; between them
# branches guide what is drawn, where atheris installs
FUZZ_MINUTES ?= 60
fuzz: $(VENV)/installed-dev
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	end=$$(( $$(date +%s) + 60 * $(FUZZ_MINUTES) )); \
	while test $$(date +%s) -lt $$end; do \
		PYTHONPATH=tests $(BIN)/python -m hostile.guided || exit 1; \
		$(BIN)/pytest tests/hostile --hypothesis-profile=fuzz || exit 1; \
	done

docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

papers: $(VENV)/installed-dev
	$(BIN)/python scripts/store_runs.py
	$(if $(ACS),$(BIN)/python scripts/store_runs.py --data $(ACS) angel proximity)
	$(if $(TREES),$(BIN)/python scripts/store_runs.py --data $(TREES) sequential)

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/ground.py
	$(BIN)/python benchmarks/permutation.py
	$(BIN)/python benchmarks/angel.py
	$(BIN)/python benchmarks/resisting.py
	$(BIN)/python benchmarks/proximity.py
	$(BIN)/python benchmarks/slicing.py
	$(BIN)/python benchmarks/sequential.py
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/storing.py
	$(BIN)/python benchmarks/regression.py
	$(BIN)/python benchmarks/auditing.py
	$(BIN)/python benchmarks/people.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/questions.py
	$(BIN)/python benchmarks/inspecting.py
	$(BIN)/python benchmarks/living.py
	$(BIN)/python benchmarks/studio.py

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

# all at once; Python compiles what tests import when they do, and most of it never
$(VENV)/installed-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	touch $(VENV)/installed $@

# pip takes the newest; what takes the lowest is installed beside them
$(LOWEST)/installed-dev: pyproject.toml
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
		--resolution lowest-direct -e '.[dev]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) demo dist docs/_build
