#!/bin/sh
# Makes sure that the named tools are there, and installs those that are missing from the distribution's packages.
# Usage: scripts/tools.sh rust cc openssl …   Prints what it installs and why; does nothing for what is there already.
set -eu

# The oldest Rust that builds the workspace stands once, in Cargo.toml.
wanted=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")

at_least() { # at_least VERSION MINIMUM
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

has_rust() {
    command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 || return 1
    for tool in rustc cargo; do
        version=$($tool --version 2>/dev/null | sed -n "s/^$tool \([0-9.]*\).*/\1/p")
        [ -n "$version" ] && at_least "$version" "$wanted" || return 1
    done
}

updated=no
install() { # install WHY PACKAGE…
    why=$1
    shift
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "missing: $why; please install the equivalent of the Debian packages: $*" >&2
        exit 4
    fi
    sudo=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "missing: $why; as root, run: apt-get install $*" >&2
            exit 4
        fi
        sudo=sudo
    fi
    echo "installing $*: $why"
    if [ $updated = no ]; then
        $sudo apt-get update -qq
        updated=yes
    fi
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

elsewhere() { # elsewhere PROCESSOR EMULATOR COMPILER ARCHITECTURE: of another processor; tests say so where it is missing
    { command -v "$3-gcc" && command -v "$2"; } >/dev/null 2>&1 ||
        (install "code for $1 is compiled and run under QEMU" "gcc-$3" "libc6-dev-$4-cross" qemu-user) ||
        echo "$1: not installed; what needs it is not run" >&2
}

for tool in "$@"; do
    case $tool in
    rust)
        has_rust || install "Rust $wanted or newer compiles Headrace" rustc-web cargo-web
        has_rust || {
            echo "the Rust of the packages is older than $wanted; see https://rustup.rs" >&2
            exit 4
        } ;;
    cc)
        command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 ||
            install "a C compiler compiles what the native engine generates" gcc libc6-dev ;;
    openssl)
        command -v openssl >/dev/null 2>&1 ||
            install "OpenSSL is the independent implementation that outputs are compared with" openssl ;;
    python3)
        command -v python3 >/dev/null 2>&1 || install "a script reads what the command lists" python3 ;;
    valgrind)
        command -v valgrind >/dev/null 2>&1 ||
            install "valgrind reports branches and addresses that depend on secrets" valgrind libc6-dbg ;;
    aarch64) elsewhere AArch64 qemu-aarch64 aarch64-linux-gnu arm64 ;;
    arm) elsewhere ARM qemu-arm arm-linux-gnueabihf armhf ;;
    riscv64) elsewhere RISC-V qemu-riscv64 riscv64-linux-gnu riscv64 ;;
    java)
        # Tests of projects in Java run with it, and say so where they cannot.
        command -v javac >/dev/null 2>&1 ||
            (install "projects in Java are compiled and run" openjdk-17-jdk-headless) ||
            (install "projects in Java are compiled and run" default-jdk-headless) ||
            echo "Java: not installed; what needs it is not run" >&2 ;;
    clang)
        command -v clang >/dev/null 2>&1 || install "measurements are made with gcc and with clang" clang ;;
    llvm)
        # The oldest and the newest of Debian 12; steps of the tests run with them, and say so where they cannot.
        for version in 16 19; do
            { command -v clang-$version && command -v llvm-link-$version; } >/dev/null 2>&1 ||
                (install "LLVM IR is compiled and run by LLVM $version" clang-$version llvm-$version) ||
                echo "LLVM $version: not installed; what needs it is not run" >&2
        done ;;
    node)
        # Packages in WebAssembly are tested with it; what needs it says so where it is missing.
        command -v node >/dev/null 2>&1 || (install "Node.js runs packages in WebAssembly" nodejs) ||
            echo "Node.js: not installed; what needs it is not run" >&2 ;;
    npm)
        command -v npm >/dev/null 2>&1 || install "npm fetches packages that measurements compare with" npm ;;
    hdl)
        # What targets verilog and vhdl make is simulated; what needs it says so where it is missing.
        { command -v iverilog && command -v verilator && command -v ghdl; } >/dev/null 2>&1 ||
            (install "Icarus, Verilator and GHDL simulate hardware" iverilog verilator ghdl) ||
            echo "Icarus, Verilator, GHDL: not installed; what needs them is not run" >&2 ;;
    spin)
        # Models in PROMELA are checked with it; what needs it says so where it is missing.
        command -v spin >/dev/null 2>&1 || (install "Spin checks models of networks" spin) ||
            echo "Spin: not installed; what needs it is not run" >&2 ;;
    opencl)
        # Kernels are compiled and run by PoCL, on the processor; what needs it says so where it is missing.
        { [ -e /usr/include/CL/cl.h ] && ls /etc/OpenCL/vendors/*.icd && command -v clinfo; } >/dev/null 2>&1 ||
            (install "kernels in OpenCL C are compiled and run on the processor" pocl-opencl-icd ocl-icd-opencl-dev \
                opencl-c-headers clinfo) || echo "OpenCL: not installed; what needs it is not run" >&2 ;;
    nvcc)
        # Debian has it in no free part; its makers publish it for Python. It needs no GPU.
        folder=${CARGO_TARGET_DIR:-target}/nvcc
        command -v nvcc >/dev/null 2>&1 || [ -x "$folder/cuda/bin/nvcc" ] || {
            python3 -m venv "$folder" >/dev/null 2>&1 || (install "nvcc is fetched by pip" python3-venv && python3 -m venv "$folder")
            echo "fetching nvcc into $folder: kernels in CUDA are compiled by it"
            "$folder/bin/pip" install -q "nvidia-cuda-nvcc==13.*" &&
                (cd "$folder" && ln -sfn lib/python3*/site-packages/nvidia/cu13 cuda)
        } || echo "nvcc: not installed; what needs it is not run" >&2 ;;
    c++)
        command -v c++ >/dev/null 2>&1 ||
            install "a C++ compiler compiles the adapters of libraries in C++" g++ ;;
    libssl)
        # Providers for OpenSSL are compiled with them; what needs them says so where they are missing.
        printf '#include <openssl/core_dispatch.h>\n' | cc -E - >/dev/null 2>&1 ||
            (install "providers for OpenSSL 3 are compiled with its headers" libssl-dev) ||
            echo "headers of OpenSSL 3: not installed; what needs them is not run" >&2 ;;
    pkg-config)
        command -v pkg-config >/dev/null 2>&1 || install "pkg-config says where libraries are" pkg-config ;;
    cmake)
        command -v cmake >/dev/null 2>&1 || install "CMake builds AWS-LC, which measurements compare with" cmake ;;
    perl)
        command -v perl >/dev/null 2>&1 || install "Perl builds OpenSSL 4, which measurements compare with" perl ;;
    libraries)
        for library in libssl-dev:libcrypto libgcrypt20-dev:libgcrypt libbotan-2-dev:botan-2 libcrypto++-dev:libcrypto++ \
            nettle-dev:nettle; do
            pkg-config --exists "${library#*:}" ||
                install "${library#*:} is a library that measurements compare with" "${library%:*}"
        done ;;
    *)
        echo "unknown tool $tool" >&2
        exit 2 ;;
    esac
done
