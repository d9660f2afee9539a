#!/bin/sh
# Gets and builds what `headrace bench` compares with, as far as it can be had here. Says what it installs and why, leaves
# alone what is there already; what cannot be had is named, and its rows count as not measured.
# Usage: scripts/peers.sh [openssl4 rustcrypto aws-lc base64-turbo base64-simd npm libraries ipsec-mb ascon-c embedded]   all of them when none is named
set -eu
cd "$(dirname "$0")/.."
peers=${HEADRACE_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/headrace/peers}
target=${CARGO_TARGET_DIR:-target}/peers
mkdir -p "$peers"
failed=

rust_peer() { # rust_peer NAME: an adapter that comes as a crate, for this processor
    echo "building the adapter of $1 and what it compares with"
    CARGO_TARGET_DIR=$target RUSTFLAGS="-C target-cpu=native" cargo build --quiet --release --locked \
        --manifest-path bench/rust-peers/Cargo.toml -p "headrace-peer-$1" || return 1
    object=libheadrace_peer_$(echo "$1" | tr - _).so
    # A new file, because the old one may be loaded somewhere.
    rm -f "$peers/$object"
    cp "$target/release/$object" "$peers/$object"
}

npm_packages() {
    scripts/tools.sh node npm
    echo "fetching packages of npm: bench targets compares packages of WebAssembly with them"
    mkdir -p "$peers/npm"
    cp bench/contenders/package.json bench/contenders/package-lock.json "$peers/npm/" || return 1
    (cd "$peers/npm" && npm ci --silent --no-audit --no-fund --ignore-scripts)
}

openssl4() {
    scripts/tools.sh rust cc
    command -v perl >/dev/null 2>&1 || scripts/tools.sh perl
    echo "building OpenSSL 4 from the crate openssl-src: distributions still have version 3"
    CARGO_TARGET_DIR=$target cargo build --quiet --release --locked \
        --manifest-path bench/rust-peers/Cargo.toml -p headrace-peer-openssl4 || return 1
    from=$("$target/release/headrace-peer-openssl4")
    rm -rf "$peers/openssl4"
    mkdir -p "$peers/openssl4"
    cp -R "$from/include" "$from/lib" "$peers/openssl4/"
}

# The packages of a later Debian: they need nothing of the system but the C library, so they are only unpacked.
ipsec_mb() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    echo "fetching intel-ipsec-mb 2 from Debian 13: the many-message rows ask for it, Debian 12 has version 1.3"
    work=$(mktemp -d)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    # From where the machine has its own packages of Debian, another release.
    here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Component: main' "Codename: $here" |
        head -n 1)
    if [ -z "$site" ]; then
        echo "no source of Debian packages is configured here" >&2
        rm -rf "$work"
        return 1
    fi
    echo "deb [signed-by=$keys] $site trixie main" >"$work/sources.list"
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
    set -- -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o "Dir::State=$work/state" -o "Dir::Cache=$work/cache" -o Dir::State::status=/var/lib/dpkg/status \
        -o APT::Sandbox::User=root
    if apt-get "$@" update && (cd "$work" && apt-get "$@" download libipsec-mb2 libipsec-mb-dev); then
        for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/unpacked"; done
        rm -rf "$peers/ipsec-mb"
        mkdir -p "$peers/ipsec-mb/lib"
        cp -R "$work/unpacked/usr/include" "$peers/ipsec-mb/"
        find "$work/unpacked/usr/lib" -name 'libIPSec_MB.so*' -exec cp -P {} "$peers/ipsec-mb/lib/" \;
        done=0
    else
        done=1
    fi
    rm -rf "$work"
    return $done
}

# What Ascon's authors publish, in the variant that is fastest on processors of 64 bits.
ascon_c() {
    command -v git >/dev/null 2>&1 || return 1
    scripts/tools.sh cc
    echo "building ascon-c for this processor; what counts as its version is the day of its last change"
    work=$(mktemp -d)
    if git clone --quiet --depth 1 https://github.com/ascon/ascon-c "$work/source" &&
        (cd "$work" && cc -std=c99 -O3 -fomit-frame-pointer -march=native -mtune=native -fPIC -c \
            -Isource/tests source/crypto_aead/asconaead128/opt64/*.c && ar rcs libascon_c.a ./*.o); then
        rm -rf "$peers/ascon-c"
        mkdir -p "$peers/ascon-c/include" "$peers/ascon-c/lib"
        cp "$work/libascon_c.a" "$peers/ascon-c/lib/"
        cp "$work/source/tests/crypto_aead.h" "$peers/ascon-c/include/"
        day=$(git -C "$work/source" log -1 --format=%cs | tr - .)
        echo "#define ASCON_C_VERSION \"$day\"" >"$peers/ascon-c/include/ascon_c_version.h"
        done=0
    else
        done=1
    fi
    rm -rf "$work"
    return $done
}

# Sources of libraries for microcontrollers, which `headrace bench embedded` compiles for processors of its own: those of Debian's
# packages, and a repository.
embedded() {
    command -v apt-get >/dev/null 2>&1 && command -v git >/dev/null 2>&1 || return 1
    echo "fetching sources of bearssl, mbedtls and ascon-c: bench embedded compiles them for microcontrollers"
    work=$(mktemp -d)
    mkdir -p "$work/parts" "$work/lists/partial" "$peers/embedded"
    # From where the machine has its own packages of Debian, their sources.
    for list in /etc/apt/sources.list.d/*.sources; do
        [ -e "$list" ] && sed 's/^Types: .*/Types: deb-src/' "$list" >"$work/parts/$(basename "$list")"
    done
    [ -e /etc/apt/sources.list ] && sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/parts/here.list"
    from="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$work/parts -o Dir::State::Lists=$work/lists"
    # shellcheck disable=SC2086
    apt-get $from -qq update || return 1
    for package in bearssl mbedtls; do
        # shellcheck disable=SC2086
        (cd "$work" && apt-get $from -qq source --download-only "$package") || return 1
        rm -rf "$peers/embedded/$package"
        mkdir "$peers/embedded/$package"
        tar -xf "$work/$package"_*.orig.tar.* -C "$peers/embedded/$package" --strip-components=1
        version=$(sed -n 's/^Version: //p' "$work/$package"_*.dsc | head -n 1)
        echo "$package ${version%%[+-]*}" >"$peers/embedded/$package/version"
    done
    rm -rf "$peers/embedded/ascon-c"
    git clone --quiet --depth 1 https://github.com/ascon/ascon-c "$peers/embedded/ascon-c" || return 1
    echo "ascon-c $(git -C "$peers/embedded/ascon-c" log -1 --format=%cs)" >"$peers/embedded/ascon-c/version"
    rm -rf "$work"
}

for peer in ${*:-openssl4 rustcrypto aws-lc base64-turbo base64-simd npm libraries ipsec-mb ascon-c embedded}; do
    case $peer in
    openssl4) openssl4 ;;
    rustcrypto | base64-turbo | base64-simd) scripts/tools.sh rust cc && rust_peer "$peer" ;;
    npm) npm_packages ;;
    aws-lc) scripts/tools.sh rust cc cmake && rust_peer "$peer" ;;
    libraries) scripts/tools.sh cc c++ pkg-config libraries ;;
    ipsec-mb) ipsec_mb ;;
    ascon-c) ascon_c ;;
    embedded) embedded ;;
    *)
        echo "unknown peer $peer" >&2
        exit 2 ;;
    esac || failed="$failed $peer"
done
if [ -n "$failed" ]; then
    echo "not here:$failed; rows that need them are not measured" >&2
fi
