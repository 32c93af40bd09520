#!/usr/bin/env bash
# Writes the type stubs of the native half from a debug build; with --check it only says whether they are up to date.
# It needs maturin.
set -euo pipefail
cd "$(dirname "$0")/../.."
stubs=crates/foretell-python/python/foretell/_native.pyi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
maturin generate-stubs --quiet --out "$made"
# What Rust returns as plain data has texts as keys.
sed -E -e 's/\bdict(, |\)|:|\]| =|$)/dict[str, Any]\1/g' -e 's/tuple\[Any, tuple\]/tuple[Any, tuple[Any, ...]]/' \
    -e 's/\*\*fields\)/**fields: Any)/' -e 's/-> Any \| None:/-> int | None:/' \
    -e 's/-> list:/-> list[dict[str, Any]]:/' -e 's/from types import CapsuleType/from typing_extensions import CapsuleType/' -e 's/a dict\[str, Any\],/a dict,/' \
    "$made/foretell/_native.pyi" > "$made/new.pyi"
if [ "${1:-}" = --check ]; then
    diff -u "$stubs" "$made/new.pyi" || { echo "the type stubs are out of date: run crates/foretell-python/stubs.sh"; exit 1; }
else
    cp "$made/new.pyi" "$stubs"
fi
