# The two commands: `make app` and `make test`. Everything they need is set up on first use.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-app
DEV    := $(VENV)/.installed-dev
DS     ?= demo
comma  := ,
# Python 3.11 where there is one, else whatever python3 is (3.11-3.14 are supported).
PY     := $(shell command -v $(PYTHON) || command -v python3)

.PHONY: install app test lint docs bench pictures clean browser format dist

$(VENV)/bin/python:
	$(PY) -m venv $(VENV)

# uv unpacks on all cores; pip does it where uv cannot, as with mirrors that only pip's settings name.
define install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[$(1)]' || \
	  $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(1)]'
	touch $@
endef

$(STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,learning$(comma)runs$(comma)images)

$(DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,dev)
	touch $(STAMP)

install: $(DEV)

app: $(STAMP)  ## run the dashboard on the embedded dataset (make app DS=labelme for another)
	$(BIN)/crowdcore app $(DS)

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || { \
	  echo "Chromium is missing: installing it with apt"; \
	  S=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$S apt-get update -qq && $$S env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; }

test: $(DEV) browser  ## every test, the browser's and the slow ones included
	$(BIN)/crowdcore overview demo >/dev/null  # compiles loops once, or each process of the tests would do it anew
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder  # one has the browser, whose tests wait as much as they work

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.file_length
	$(BIN)/zensical build --strict

docs: $(DEV)  ## the documentation, into site/; open it with `make docs && python3 -m http.server -d site`
	$(BIN)/zensical build --clean --strict

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) browser
	$(BIN)/python -m benchmarks

pictures: $(DEV) browser
	$(BIN)/python -m tests.browser.pictures
	$(BIN)/python -m tests.docs.pictures

dist: $(DEV)  ## sdist and wheel, into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/pytest -q tests/packaging/test_ship.py

clean:
	rm -rf $(VENV) site dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
