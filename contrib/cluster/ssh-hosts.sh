#!/usr/bin/env bash
# One search over machines that ssh reaches, by Ray:
#
#   ./ssh-hosts.sh HOSTS --space gpt2 --max-params 20M --algorithm 'random[batch=4000]' --budget 100k
#
# HOSTS is a file with one machine per line, in the form that ssh takes; empty lines and those from # on are left out. Needs the
# Python package with Ray here and there (pip install 'foretell[ray]'), and machines that reach each other on all ports. ADDRESS is
# how the others reach this machine. Machines leave when this script ends; one that is lost costs time only.
set -euo pipefail
hosts=$1
shift
port=${PORT:-6379}
address=${ADDRESS:-$(hostname -I | awk '{print $1}')}:$port
started=()
stop() { kill "${started[@]}" 2> /dev/null || true; wait; }
trap stop EXIT
ray start --head --port="$port" --disable-usage-stats --block > ray-head.log 2>&1 &
started+=($!)
sleep "${WAIT:-10}"
while read -r host; do
    case $host in '' | '#'*) continue ;; esac
    ssh -o BatchMode=yes "$host" "ray start --address=$address --disable-usage-stats --block" > "ray-$host.log" 2>&1 < /dev/null &
    started+=($!)
done < "$hosts"
foretell search "$@" --on-ray "$address"
