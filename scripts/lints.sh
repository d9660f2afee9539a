#!/bin/sh
# What clippy has to say of all code, tests included; nothing is the only answer that passes.
cd "$(dirname "$0")/.." && exec "${CARGO:-cargo}" clippy --locked --workspace --all-targets --profile checked -- -D warnings
