# Everything runs in .venv, which these targets make themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo docs article records dist test test-oldest test-processors fuzz edits soak lint format bench bench-all tournament compare clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --editable '.[all]' --group test --group lint
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(PIP) install --group bench
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) install --group docs
	touch $@

# the site: open out/site/index.html; its gallery runs all examples. Then its links are checked, and the main pages are
# opened in Chromium if it is installed; SHOTS=folder keeps pictures of them
SHOTS ?=
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs out/site
	$(BIN)/python -m tests.site out/site $(if $(SHOTS),--shots $(SHOTS))

# the figures of docs/article.md, from tables in FRANKWOLFE_DATA: some minutes
article: $(VENV)/installed-bench
	$(BIN)/python benchmarks/free_certificate.py --plot docs/certificate.png
	$(BIN)/python benchmarks/stochastic_pairwise.py --figure docs/stochastic_pairwise.png
	$(BIN)/python benchmarks/l1_ball/race.py --out out/article --datasets rcv1-subset w8a california-housing \
	    --solvers auto 'liblinear[penalty=given]' 'skglm[penalty=given]' 'celer[penalty=given]' --max-seconds 8 --threads 1
	$(BIN)/python benchmarks/article.py --race out/article/results.json --out docs

# run benchmarks anew, keep what they print, and write docs/benchmarks.md: make records NAMES="race ranges"
NAMES ?=
records: $(VENV)/installed-bench
	$(BIN)/python benchmarks/record.py $(NAMES) --page

# the files of a release, checked and tried in fresh environments: make dist PYTHONS="python3.11 python3.13"
PYTHONS ?= $(PYTHON)
dist: $(VENV)/installed
	$(PIP) install --group dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python -m tests.release dist $(PYTHONS)

demo: $(VENV)/installed
	$(BIN)/frankwolfe reproduce --source stand-in --quick --out demo

test: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 --dist worksteal

# with the lower bounds of all dependencies, on the oldest Python at hand: make test-oldest OLDEST=python3.11 TESTS="tests/frozen tests/sets".
# Old packages warn of newer ones, so warnings are no errors here.
OLDEST ?= $(PYTHON)
TESTS ?= tests
test-oldest:
	$(OLDEST) -m venv out/oldest
	out/oldest/bin/python -m tests.oldest > out/oldest/bounds.txt
	out/oldest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	out/oldest/bin/python -m pip install --quiet --constraint out/oldest/bounds.txt --editable '.[all]' --group test
	out/oldest/bin/python -m pytest -n 2 --dist worksteal -o filterwarnings=default --disable-warnings $(TESTS)

# the numeric tests as other processors, less optimisation and plain Python run them: half an hour or more
test-processors: $(VENV)/installed
	$(BIN)/python -m tests.processors

# random problems, every answer checked from scratch: make fuzz SEED=3 CASES=5000, or MINUTES=10; OPTIMA=1: each beside a solver's;
# then a thousand of non-negative least squares beside SciPy's
SEED ?= 0
CASES ?=
MINUTES ?=
fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz --seed $(SEED) $(if $(CASES),--cases $(CASES)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(OPTIMA),--optima $(OPTIMA))
	$(BIN)/python -m tests.fuzz.nonnegative
	$(BIN)/python -m tests.fuzz.certificates --seed $(SEED)
	$(BIN)/python -m tests.fuzz.ranges --seed $(SEED)

# stores, checkpoints and models that somebody edited, with checksums that fit: make edits SEED=3 CASES=5000
edits: $(VENV)/installed
	$(BIN)/python -m tests.edits --seed $(SEED) $(if $(CASES),--cases $(CASES))

# work that is killed at random moments and goes on: make soak SEED=3 KILLS=500, or MINUTES=10; ONLY=sfw: some of it;
# ONLY=cluster: runs on a cluster whose workers, connection or chunks are lost; ONLY=bits: the same bits under other thread settings
KILLS ?=
ONLY ?=
soak: $(VENV)/installed
	$(BIN)/python -m tests.soak --seed $(SEED) $(if $(KILLS),--kills $(KILLS)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only "$(ONLY)")

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench: five minutes at most, the main problems and the strongest peers. make bench-all: everything, an hour or
# more; stochastic methods are there only, since at this target they need longer than a run may take here.
PEERS := auto "liblinear[penalty=given]" "skglm[penalty=given]" "celer[penalty=given]" "snapml[penalty=given]"
TABLES := breast-cancer california-housing rcv1-subset w8a
THREADS ?= $(shell nproc)
bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/l1_ball/race.py --out out/bench --datasets $(TABLES) --solvers $(PEERS) --max-seconds 5 --repeats 2 --threads $(THREADS)

bench-all: $(VENV)/installed-bench
	$(BIN)/python benchmarks/step_cost.py --json out/bench/step_cost.json
	$(BIN)/python benchmarks/memory.py --json out/bench/memory.json
	$(BIN)/python benchmarks/l1_ball/race.py --out out/bench --tables out/bench/step_cost.json out/bench/memory.json

# all methods on many problems, as a report: open out/tournament/report.html. QUICK=1: a few small problems
tournament: $(VENV)/installed
	$(BIN)/python -m benchmarks.tournament --out out/tournament $(if $(QUICK),--quick)

# Is this revision slower than another one? make compare BASE=main~20
BASE ?= HEAD
compare: $(VENV)/installed
	$(BIN)/python benchmarks/compare.py $(BASE)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
