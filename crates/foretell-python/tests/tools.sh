#!/usr/bin/env bash
# Prints the folder of an environment with what builds and tests the Python package; installs it once, outside the checkout.
set -euo pipefail
home=${XDG_CACHE_HOME:-$HOME/.cache}/foretell/python-tools-3
mkdir -p "$(dirname "$home")"
exec 9> "$home.lock"
flock 9
if [ ! -e "$home/ready" ]; then
    echo "installing maturin, pytest, ray and others into $home" >&2
    rm -rf "$home"
    "${1:-python3}" -m venv "$home" >&2
    "$home/bin/python" -m pip install --quiet 'maturin>=1.16,<2' pytest mypy 'pyright[nodejs]' pandas polars pyarrow duckdb \
        optuna nbclient ipykernel numpy tqdm 'ray>=2.50,<3' distributed >&2
    # These would bring a second torch along; the tests have one.
    "$home/bin/python" -m pip install --quiet --no-deps accelerate pytorch-lightning lightning-utilities torchmetrics >&2
    touch "$home/ready"
fi
echo "$home"
