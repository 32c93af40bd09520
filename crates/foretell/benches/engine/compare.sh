#!/bin/sh
# Interleaves our networks and PyTorch eager on one pinned core; prints medians, their ratio, and the share of the core's
# measured peak that our matrix products reach.
# usage: PYTHON=python-with-torch benches/engine/compare.sh [core] [rounds] [runs per round]
set -e
core=${1:-0} rounds=${2:-5} runs=${3:-10}
cd "$(dirname "$0")"
bench=$(cargo bench --bench engine --no-run 2>&1 | sed -n 's/.*(\(.*engine-[0-9a-f]*\)).*/\1/p' | tail -1)
case $bench in /*) ;; *) bench=$(cargo locate-project --workspace --message-format plain | xargs dirname)/$bench ;; esac
out=$(mktemp -d)
for _ in $(seq "$rounds"); do
    for kind in A B C; do
        taskset -c "$core" "$bench" "$runs" "$kind" >>"$out/ours"
        taskset -c "$core" "${PYTHON:-python3}" peer.py "$runs" "$kind" >>"$out/peer"
    done
done
median() { grep "^$kind " "$1" | cut -d' ' -f"${2:-2}" | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
for kind in A B C; do
    ours=$(median "$out/ours") peer=$(median "$out/peer")
    echo "$kind ours $ours ms, PyTorch $peer ms, $(echo "$ours $peer" | awk '{printf "%.2f times faster", $2/$1}'), $(median "$out/ours" 3) % of peak"
done
rm -r "$out"
