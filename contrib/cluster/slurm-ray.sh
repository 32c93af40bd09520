#!/usr/bin/env bash
#SBATCH --job-name=foretell
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --requeue
# One search over all nodes of a Slurm job, by Ray:
#
#   sbatch slurm-ray.sh --space gpt2 --max-params 20M --algorithm 'random[batch=4000]' --budget 100k --store study.db
#
# Needs the Python package with Ray on every node (pip install 'foretell[ray]'). A job that is requeued continues the study. The
# store is written by the first node alone; a local disk is quickest, a shared one is needed if the job may move.
set -euo pipefail
port=${PORT:-6379}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{print $1}'):$port
started=()
stop() { kill "${started[@]}" 2> /dev/null || true; wait; }
trap stop EXIT
srun --nodes=1 --ntasks=1 --nodelist="$head" \
    ray start --head --port="$port" --num-cpus="$((SLURM_CPUS_PER_TASK - 1))" --disable-usage-stats --block &
started+=($!)
sleep "${WAIT:-15}"
for node in "${nodes[@]:1}"; do
    srun --nodes=1 --ntasks=1 --nodelist="$node" \
        ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --disable-usage-stats --block &
    started+=($!)
done
foretell search "$@" --on-ray "$address"
