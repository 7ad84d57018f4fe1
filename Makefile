# `make` says what there is.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench soak doc

help: ## what there is
	@sed -n 's|^\([a-z]*\):.*## \(.*\)|  make \1\t\2|p' $(MAKEFILE_LIST)

demo: ## the whole product with no account, no network and no sound card; ARGS="--interactive" and the like
	@.ci/packages build
	cargo run --locked --release --package voiced --bin voiced -- demo $(ARGS)

test: ## everything that must hold before a change lands
	@.ci/run

lint: ## formatting, lints, and licences if cargo-deny is installed
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check --hide-inclusion-graph licenses bans sources; fi

bench: ## latency, processor time, memory and size, on a virtual sound card
	@.ci/packages test
	cargo run --locked --release --package e2e --bin bench -- $(ARGS)

# What release is built with, but for the time that linking takes; the properties compute, and wait for nothing.
QUICK := --release --config profile.release.lto=false --config profile.release.opt-level=3 --config profile.release.codegen-units=16

soak: ## ten million conversations against the confirmation gate, and what becomes of it without each of its conditions; hours
	PROPTEST_CASES=$${PROPTEST_CASES:-10000000} cargo test --locked $(QUICK) --package session --test session -- consent
	tests/gate_removals.py

doc: ## the documentation of every crate
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --workspace --no-deps
