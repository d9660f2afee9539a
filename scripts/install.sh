#!/bin/sh
# Installs the command, its manual pages and its completions.
# Usage: scripts/install.sh HEADRACE PREFIX
# PREPARE names the operations that are compiled ahead of their first use, as `headrace prepare` takes them; none when empty.
set -eu
# What is installed is for everybody, whatever who installs it keeps to himself.
umask 022
headrace=$1
prefix=$2
prepare=${PREPARE-aes128-ctr aes256-ctr chacha20-poly1305 sha256 sha512}
install -D -m 755 "$headrace" "$prefix/bin/headrace"
"$headrace" man -o "$prefix/share/man/man1"
completions() { # completions SHELL FILE
    mkdir -p "$(dirname "$2")"
    "$headrace" completions "$1" >"$2"
}
completions bash "$prefix/share/bash-completion/completions/headrace"
completions zsh "$prefix/share/zsh/site-functions/_headrace"
completions fish "$prefix/share/fish/vendor_completions.d/headrace.fish"
rm -rf "$prefix/lib/headrace"
if [ -n "$prepare" ]; then
    # By the installed command: another one, or one of another time, has its own.
    # shellcheck disable=SC2086 # operations are several
    "$prefix/bin/headrace" prepare $prepare --into "$prefix/lib/headrace" ||
        echo "nothing is compiled ahead; the command compiles what it needs when it needs it"
fi
echo "installed $prefix/bin/headrace, manual pages and completions"
