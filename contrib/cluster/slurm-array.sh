#!/usr/bin/env bash
# A search in shards, one task of a Slurm array each, and one job that merges them:
#
#   SHARDS=16 STUDY=wide ./slurm-array.sh --space gpt2 --max-params 20M --algorithm random --budget 100k
#
# Needs foretell on every node and a folder that all nodes see, where this is started. A task that is requeued continues its
# shard. Shards share nothing while they run, so this scales as far as Slurm does; they are a different study than one search
# without shards. Options of sbatch are set by its variables, e.g. SBATCH_PARTITION and SBATCH_TIMELIMIT.
set -euo pipefail
study=${STUDY:-wide} shards=${SHARDS:-16}
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    exec foretell search "$@" --name "$study" --shard "$SLURM_ARRAY_TASK_ID/$shards" --threads "${SLURM_CPUS_PER_TASK:-1}" \
        --store "$study-$SLURM_ARRAY_TASK_ID.db"
fi
export STUDY=$study SHARDS=$shards
array=$(sbatch --parsable --export=ALL --requeue --array="1-$shards" --cpus-per-task="${CPUS:-8}" --job-name="$study" "$0" "$@")
sbatch --parsable --dependency="afterok:$array" --job-name="$study-merge" \
    --wrap "foretell merge '$study.db' $study-[0-9]*.db && foretell front '$study' --store '$study.db'"
