#!/bin/sh
# Installs what building needs and is missing: a C++ compiler, CMake, libclang (for the llama.cpp bindings), Python with pip (for the
# default models) and Rust. Touches nothing that is there already and then needs no root.
set -eu

say() { printf 'setup: %s\n' "$*"; }

missing=""
need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need cc build-essential
need c++ build-essential
need make build-essential
need cmake cmake
need curl curl
need python3 python3
python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
# libclang-cpp.so is another library and does not count.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    ldconfig -p 2>/dev/null | grep -q 'libclang[-.0-9]*\.so' && return 0
    ls /usr/lib/llvm-*/lib/libclang.so* /usr/lib/llvm-*/lib/libclang-[0-9]*.so* 2>/dev/null | grep -q .
}
has_libclang || missing="$missing libclang-dev clang"

if [ -n "$missing" ]; then
    packages=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')
    command -v apt-get >/dev/null 2>&1 || { say "please install: $packages"; exit 1; }
    if [ "$(id -u)" = 0 ]; then sudo=""
    elif command -v sudo >/dev/null 2>&1; then sudo="sudo"
    else say "please install as root: apt-get install $packages"; exit 1
    fi
    say "installing $packages"
    $sudo apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends ca-certificates $packages >/dev/null
fi

if ! command -v cargo >/dev/null 2>&1 && [ ! -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    say "installing Rust with rustup"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none
fi
say "everything that building needs is here"
