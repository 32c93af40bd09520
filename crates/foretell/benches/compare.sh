#!/bin/sh
# Interleaves a bench and its peer.py, PyTorch eager, on the same pinned cores; prints medians, their ratio, and what else the
# bench says: of the engine the share of the core's measured peak, of training tokens a second.
# usage: PYTHON=python-with-torch benches/compare.sh engine|train [cores, e.g. 0,1] [rounds] [runs per round]
set -e
case $1 in
engine) kinds="A B C" cores=${2:-0} unit="% of peak" ;;
train) kinds="S M L" cores=${2:-0,1} unit="tokens a second" ;;
*) sed -n '4s/^# //p' "$0" >&2 && exit 2 ;;
esac
name=$1 rounds=${3:-5} runs=${4:-10}
cd "$(dirname "$0")"
bench=$(cargo bench --bench "$name" --no-run 2>&1 | sed -n "s/.*(\(.*$name-[0-9a-f]*\)).*/\1/p" | tail -1)
case $bench in /*) ;; *) bench=$(cargo locate-project --workspace --message-format plain | xargs dirname)/$bench ;; esac
THREADS=$(echo "$cores" | tr , '\n' | wc -l) RAYON_NUM_THREADS=$THREADS
export THREADS RAYON_NUM_THREADS
out=$(mktemp -d)
for _ in $(seq "$rounds"); do
    for kind in $kinds; do
        taskset -c "$cores" "$bench" "$runs" "$kind" >>"$out/ours"
        taskset -c "$cores" "${PYTHON:-python3}" "$name/peer.py" "$runs" "$kind" >>"$out/peer"
    done
done
median() { grep "^$kind " "$1" | cut -d' ' -f"${2:-2}" | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
for kind in $kinds; do
    ours=$(median "$out/ours") peer=$(median "$out/peer")
    echo "$kind ours $ours ms, PyTorch $peer ms, $(echo "$ours $peer" | awk '{printf "%.2f times faster", $2/$1}'), $(median "$out/ours" 3) $unit"
done
rm -r "$out"
