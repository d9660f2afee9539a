#!/bin/sh
# Installs the command, its manual pages and its completions.
# Usage: scripts/install.sh HEADRACE PREFIX
set -eu
headrace=$1
prefix=$2
install -D -m 755 "$headrace" "$prefix/bin/headrace"
"$headrace" man -o "$prefix/share/man/man1"
completions() { # completions SHELL FILE
    mkdir -p "$(dirname "$2")"
    "$headrace" completions "$1" >"$2"
}
completions bash "$prefix/share/bash-completion/completions/headrace"
completions zsh "$prefix/share/zsh/site-functions/_headrace"
completions fish "$prefix/share/fish/vendor_completions.d/headrace.fish"
echo "installed $prefix/bin/headrace, manual pages and completions"
