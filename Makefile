# Every target sets itself up: python3 (3.11 to 3.13) and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install benchmark test check bench lock clean

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "alpsbench needs Python 3.11 to 3.13: make PYTHON=python3.13")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

benchmark: install
	$(BIN)/alpsbench build --source sample

test: install
	$(BIN)/pytest -n 2 --durations 12

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Resolves the newest versions anew. A uv.lock would hold host names; the export does not.
lock:
	@test -x $(VENV)/lock/bin/uv || ($(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv)
	$(VENV)/lock/bin/uv lock --quiet --upgrade
	$(VENV)/lock/bin/uv export --quiet --format requirements-txt --all-groups --no-emit-project --no-header --no-annotate --output-file $@.partial
	mv $@.partial requirements.lock
	rm uv.lock

# Measures: kills in every stage, the whole build, the offline rules. Takes some 20 minutes.
bench: install
	$(BIN)/python bench/kills.py
	$(BIN)/python bench/build.py
	$(BIN)/python bench/offline.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
