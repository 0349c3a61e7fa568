# `make demo` and `make test` do all the set-up on a bare Debian 12 or Ubuntu machine. Both can be run again at any time.

CARGO := PATH="$$PATH:$${CARGO_HOME:-$$HOME/.cargo}/bin" cargo
ASSIZE := target/release/assize
MODELS := .models

.PHONY: help setup build models demo demo-written test lint bench clean

help:
	@echo "make demo          set up, build, fetch the default models, judge the sample study"
	@echo "make demo-written  the sample study from replies written by hand (no model)"
	@echo "make test          set up and run every test"
	@echo "make lint          formatting and clippy"
	@echo "make bench         measure, beside Python where people use it; raw output in benches/runs/"
	@echo "make build | make models | make clean"

setup:
	@sh scripts/setup.sh

build: setup
	@echo "build: assize (the first build compiles llama.cpp: about six minutes on two cores)"
	@$(CARGO) build --release --locked

models: build
	@python3 scripts/fetch_models.py $(MODELS)
	@$(ASSIZE) models verify --model-dir $(MODELS)

# Exit code 4 means that some games failed: the leaderboard says which.
demo: models
	@$(ASSIZE) run examples/sample; status=$$?; [ $$status -eq 0 ] || [ $$status -eq 4 ] || exit $$status

demo-written: build
	@$(ASSIZE) requests examples/sample/written.toml > /dev/null
	@$(ASSIZE) replies examples/sample/written.toml --input examples/sample/written/replies.jsonl
	@$(ASSIZE) run examples/sample/written.toml

test: models
	@$(CARGO) test --release --locked

lint: setup
	@$(CARGO) fmt --check
	@$(CARGO) clippy --release --locked --all-targets -- -D warnings

bench: setup
	@PATH="$$PATH:$${CARGO_HOME:-$$HOME/.cargo}/bin" sh benches/run.sh $(STRINGS)

clean:
	@$(CARGO) clean
