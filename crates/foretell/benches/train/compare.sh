#!/bin/sh
# Interleaves training steps of ours and of PyTorch eager on the same cores; prints medians, their ratio, tokens a second.
# usage: PYTHON=python-with-torch benches/train/compare.sh [cores, e.g. 0,1] [rounds] [steps per round]
set -e
cores=${1:-0,1} rounds=${2:-3} steps=${3:-10}
cd "$(dirname "$0")"
bench=$(cargo bench --bench train --no-run 2>&1 | sed -n 's/.*(\(.*train-[0-9a-f]*\)).*/\1/p' | tail -1)
case $bench in /*) ;; *) bench=$(cargo locate-project --workspace --message-format plain | xargs dirname)/$bench ;; esac
THREADS=$(echo "$cores" | tr , '\n' | wc -l) RAYON_NUM_THREADS=$THREADS
export THREADS RAYON_NUM_THREADS
out=$(mktemp -d)
for _ in $(seq "$rounds"); do
    for kind in S M L; do
        taskset -c "$cores" "$bench" "$steps" "$kind" >>"$out/ours"
        taskset -c "$cores" "${PYTHON:-python3}" peer.py "$steps" "$kind" >>"$out/peer"
    done
done
median() { grep "^$kind " "$1" | cut -d' ' -f"${2:-2}" | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
for kind in S M L; do
    ours=$(median "$out/ours") peer=$(median "$out/peer")
    echo "$kind ours $ours ms, PyTorch $peer ms, $(echo "$ours $peer" | awk '{printf "%.2f times faster", $2/$1}'), $(median "$out/ours" 3) tokens a second"
done
rm -r "$out"
