#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh environment and tests it there: check.sh PYTHON
#
# PYTHON has torch and transformers. Its packages, and those of the tools, are read from where they are; nothing but the
# wheel is installed. The wheel is a debug build, so that little is compiled twice.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
python=$1
tools=$("$here/tools.sh" "$python")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$tools/bin:$PATH VIRTUAL_ENV=$tools
crates/foretell-python/stubs.sh --check
"$tools/bin/python" crates/foretell-python/reference.py --check
export FORETELL_DOCS=$PWD/docs
maturin build --quiet --profile dev --out "$work"
"$python" -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --no-index --no-deps "$work"/foretell-*.whl
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
{ packages "$tools/bin/python"; packages "$python"; } > "$(packages "$work/env/bin/python")/beside.pth"
cp -r "$here" "$work/tests"
cd "$work/tests"
"$work/env/bin/python" -m mypy --strict --python-executable "$work/env/bin/python" typed.py
"$work/env/bin/python" -m mypy --strict --python-executable "$work/env/bin/python" -p foretell
pyright --pythonpath "$work/env/bin/python" typed.py
"$work/env/bin/foretell" --version
"$work/env/bin/python" -m pytest -q -p no:cacheprovider .
