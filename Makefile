# The commands of the project; `make help` lists them. Everything is done by the scripts and the command `headrace`.

CARGO ?= cargo
CARGO_TARGET_DIR ?= target
HEADRACE = $(CARGO_TARGET_DIR)/release/headrace
DEMO_REPORT ?= demo.html
# How long each fuzz target runs, in seconds.
FUZZ_SECONDS ?= 1800

.PHONY: help demo test format lints peers models matrix constant-time bench fuzz docs build install clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## the command, optimised
	@scripts/tools.sh rust cc
	$(CARGO) build --release --locked -p headrace-driver

demo: ## from nothing to an encrypted file, as fused code and by every engine, compared with OpenSSL
	@scripts/tools.sh rust cc openssl
	$(CARGO) build --release --locked -p headrace-driver
	$(HEADRACE) demo -o $(DEMO_REPORT)

test: ## all tests within 20 minutes; those that take turns, and the lints, all with CRATES=all
	@scripts/tools.sh rust cc c++ cmake pkg-config java openssl libssl python3 valgrind aarch64 arm riscv64 llvm node spin opencl hdl
	@scripts/test.sh

format: ## code as rustfmt writes it, also what a macro declares
	@scripts/tools.sh rust
	$(CARGO) fmt --all -- crates/transform/src/passes/*.rs crates/transform/src/passes/*/mod.rs

lints: ## what clippy has to say of all code
	@scripts/tools.sh rust
	@scripts/lints.sh

peers: ## 10,000 random messages through every primitive, compared with other implementations
	@scripts/tools.sh rust cc
	$(CARGO) build --release --locked -p headrace-testkit
	$(CARGO_TARGET_DIR)/release/headrace-testkit peers

models: ## 100,000 random sequences of calls of what targets offer, beside the same calls of the platform's own
	@scripts/tools.sh rust cc java
	$(CARGO) build --release --locked -p headrace-driver
	scripts/models.sh $(HEADRACE)

matrix: ## known answers of every primitive and random networks, on every engine and target found here; hours; goes on where it ended
	@scripts/tools.sh rust cc c++ cmake java python3 aarch64 arm riscv64 llvm node opencl nvcc hdl
	$(CARGO) build --release --locked -p headrace-driver -p headrace-testkit
	scripts/matrix.sh $(HEADRACE) $(CARGO_TARGET_DIR)/release/headrace-testkit

constant-time: ## what is declared constant-time: its machine code under valgrind and walked
	@scripts/tools.sh rust cc python3 valgrind
	$(CARGO) build --release --locked -p headrace-driver -p headrace-testkit
	scripts/constant_time.sh $(HEADRACE) $(CARGO_TARGET_DIR)/release/headrace-testkit

bench: ## measurements beside other libraries; results in bench/results, tables in the documents
	@scripts/tools.sh rust cc c++ openssl clang llvm java node opencl aarch64 arm riscv64
	scripts/peers.sh
	$(CARGO) build --release --locked --workspace
	scripts/bench.sh $(CARGO_TARGET_DIR)/release

fuzz: ## every reader of text under the fuzzer, FUZZ_SECONDS each
	@scripts/tools.sh rust cc
	for reader in cal nl xdf manifest vectors; do fuzz/run $$reader $(FUZZ_SECONDS) || exit 1; done

docs: ## everything in the documents that is generated
	$(CARGO) build --release --locked -p headrace-driver
	scripts/docs.sh $(HEADRACE)

install: build ## the command, its manual pages and completions, below PREFIX (/usr/local), with the operations of PREPARE compiled
	scripts/install.sh $(HEADRACE) $(or $(PREFIX),/usr/local)

clean: ## what was built
	$(CARGO) clean
	rm -f demo.html
