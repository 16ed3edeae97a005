# Thin on purpose: what is more than a line lives in scripts/, which copes with spaces in paths.
.DEFAULT_GOAL := help
.PHONY: help demo install test lint format lock clean setup-base setup-dev

PYTHON ?= python3
BIN := .venv/bin
SOURCES := engine kernels server scripts tests

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' Makefile

demo: setup-base ## Set up what is needed, then show completions of a sample project
	@"$(BIN)/velospec" demo

install: setup-base ## Set up .venv and a model, for use from this folder
	@"$(BIN)/velospec" model install
	@echo "The language server for your editor: $(CURDIR)/$(BIN)/velospec-lsp --stdio"

test: setup-dev ## Set up what is needed, then run every check and every test
	@$(MAKE) --no-print-directory check
	@PATH="$(CURDIR)/$(BIN):$$PATH" "$(BIN)/python" -m pytest $(if $(SLOW),--slow) $(PYTEST_ARGS)

lint: setup-dev ## Run the checks that read the code without running it
	@$(MAKE) --no-print-directory check

format: setup-dev ## Format the code and mend what ruff can mend
	@"$(BIN)/ruff" format $(SOURCES)
	@"$(BIN)/ruff" check --fix $(SOURCES)

lock: ## Write requirements/*.txt anew; make lock UPGRADE=--upgrade takes the newest versions
	@"$(PYTHON)" scripts/lock.py $(UPGRADE)

clean: ## Remove what set-up and tests made: .venv, the caches, the default model's copy for tests
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

.PHONY: check
check:
	"$(BIN)/ruff" check $(SOURCES)
	"$(BIN)/ruff" format --check $(SOURCES)
	"$(BIN)/mypy"
	cd scripts && "../$(BIN)/mypy" --cache-dir ../.mypy_cache --strict setup.py lock.py
	"$(BIN)/lint-imports"

setup-base setup-dev:
	@command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) is not on this machine. Debian, Ubuntu: sudo apt-get install python3 python3-venv g++ make; Fedora: sudo dnf install python3 gcc-c++ make; Arch: sudo pacman -S python gcc make; macOS: brew install python" >&2; exit 1; }
	@"$(PYTHON)" scripts/setup.py $(if $(filter setup-dev,$@),--dev)
