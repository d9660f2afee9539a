#!/bin/sh
# Random sequences of calls of the traits of RustCrypto, of generated crates beside its own (src/main.rs).
#
#   tests/models/rust/run.sh HEADRACE [--seed N] [--sequences N] [--seconds N]
#
# The last line says «N sequences, M differences».
set -u
here=$(cd "$(dirname "$0")" && pwd)
headrace=$1
shift
folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
trap 'exit 3' INT TERM
for set in aes128 aes128-gcm chacha20-poly1305 hmac-sha256 sha256; do
    operations=
    [ $set = aes128 ] && operations="--operation encrypt --operation decrypt --operation ctr --operation cbc-encrypt --operation cbc-decrypt"
    # shellcheck disable=SC2086 # operations are several
    "$headrace" build $set $operations ${MODEL_BUILD:-} --target rust -o "$folder/$set" >/dev/null || exit 1
done
mkdir "$folder/model" "$folder/model/src"
cp "$here/Cargo.toml" "$folder/model/"
cp "$here/src/main.rs" "$folder/model/src/"
# The same releases as those that the project is tested with.
cp "$here/../../../Cargo.lock" "$folder/model/"
(cd "$folder/model" && CARGO_TARGET_DIR=${MODEL_TARGET:-$folder/target} ${CARGO:-cargo} run --offline --quiet -- "$@")
