#!/usr/bin/env bash
# Prints the folder of a Python environment with torch, transformers 5 and timm, and in transformers-4 beside it an older
# transformers; installs it once, outside the checkout. It takes some minutes and 6 GB, most of them CUDA libraries that
# torch from PyPI does not import without.
set -euo pipefail
home=${XDG_CACHE_HOME:-$HOME/.cache}/foretell/python-1
mkdir -p "$(dirname "$home")"
exec 9> "$home.lock"
flock 9
if [ ! -e "$home/ready" ]; then
    echo "installing torch and transformers into $home: some minutes, 6 GB" >&2
    rm -rf "$home"
    python3 -m venv "$home" >&2
    "$home/bin/python" -m pip install --quiet 'torch==2.15.*' 'transformers==5.22.*' 'safetensors' 'numpy' >&2
    "$home/bin/python" -m pip install --quiet --no-deps 'timm==1.0.*' 'torchvision==0.29.*' pillow pyyaml >&2
    "$home/bin/python" -m pip install --quiet --target "$home/transformers-4" 'transformers==4.57.*' >&2
    touch "$home/ready"
fi
echo "$home"
