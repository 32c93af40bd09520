#!/usr/bin/env bash
# The engine's unit tests under valgrind: reads and writes outside a buffer, use of what was never written.
# Needs valgrind (Debian, Ubuntu: apt install valgrind). It knows AVX2 but not AVX-512: on a machine with AVX-512 the
# tests end with an unknown instruction.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v valgrind > /dev/null; then
    echo "skipped: valgrind is not installed (apt install valgrind)"
    exit 0
fi
tests=$(cargo test --lib --no-run --message-format json 2> /dev/null \
    | sed -n 's/.*"executable":"\([^"]*\/foretell_engine-[0-9a-f]*\)".*/\1/p' | tail -1)
# Tests that must panic leave what they held behind, so leaks are not counted.
valgrind --quiet --error-exitcode=1 --leak-check=no "$tests" --test-threads=1 --quiet "$@"
