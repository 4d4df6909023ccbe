# Every target sets itself up: python3 (3.11 to 3.13) and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCAL_MODEL := $(VENV)/local-model
PIP := pip install --quiet --disable-pip-version-check

.PHONY: install benchmark test test-local-model check bench lock clean

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "alpsbench needs Python 3.11 to 3.13: make PYTHON=python3.13")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) --require-hashes --requirement requirements.lock
	$(BIN)/$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

benchmark: install
	$(BIN)/alpsbench build --source sample

test: install
	$(BIN)/pytest -n 2 --durations 12

# Asks a real, very small model on this machine. The first time compiles its server: some eight minutes, with a C++ compiler.
test-local-model: install $(LOCAL_MODEL)/.installed
	$(BIN)/pytest tests/local_model --durations 5

$(LOCAL_MODEL)/.installed: tests/local_model/build.lock tests/local_model/requirements.lock
	@test -x $(LOCAL_MODEL)/bin/python || $(PYTHON) -m venv $(LOCAL_MODEL)
	$(LOCAL_MODEL)/bin/$(PIP) --require-hashes --requirement tests/local_model/build.lock
	PATH="$(abspath $(LOCAL_MODEL)/bin):$$PATH" CMAKE_ARGS="-DLLAVA_BUILD=OFF -DLLAMA_CURL=OFF" $(LOCAL_MODEL)/bin/$(PIP) --no-build-isolation --require-hashes --requirement tests/local_model/requirements.lock
	@touch $@

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
	for part in build requirements; do $(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate tests/local_model/$$part.in --output-file tests/local_model/$$part.lock; done

# Measures: collection, near-duplicates, the gateway, kills in every stage, the whole build, the offline rules. Takes
# some 30 minutes. bench/collection.py --conversations 1000000 takes five more.
bench: install
	$(BIN)/python bench/collection.py
	$(BIN)/python bench/near_duplicates.py
	$(BIN)/python bench/gateway.py
	$(BIN)/python bench/kills.py
	$(BIN)/python bench/build.py
	$(BIN)/python bench/offline.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
