# Sourced by install, run and kill9: where the pinned clients are kept. Each folder is named after all that decides what is in
# it, so checkouts that pin different versions do not take each other's away.
# shellcheck shell=bash

INTEROP="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$INTEROP/../oracle/lib.sh"

digest_of() { # digest_of FILE…
    cat "$@" | sha256sum | cut -c1-16
}

export DOHLE_CACHE PYTHONDONTWRITEBYTECODE=1
export INTEROP_VENV="$DOHLE_CACHE/interop-venv-$(digest_of "$INTEROP/python/requirements.txt")"
export INTEROP_NODE="$DOHLE_CACHE/interop-node-$(digest_of "$INTEROP/node/package-lock.json")"
export INTEROP_GO="$DOHLE_CACHE/interop-go-$(digest_of "$INTEROP"/go/*.go "$INTEROP/go/go.sum")"
export INTEROP_RUST="$DOHLE_CACHE/interop-rust-$(digest_of "$INTEROP"/rust/src/*.rs "$INTEROP/rust/Cargo.lock")"
