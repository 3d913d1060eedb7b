#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm: one task for each segment, and a job that joins them.
#
#   N=32
#   job=$(sbatch --parsable --array=1-$N examples/farm/slurm-array.sh film.mov /scratch/film --quality 0.6)
#   sbatch --dependency=afterok:$job --wrap "hwctl join film-hevc.mov /scratch/film/part-*.mov --from film.mov"
#
#SBATCH --job-name=hwctl-segments
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
#SBATCH --requeue
set -u
input=$1 folder=$2
shift 2
mkdir -p "$folder"
hwctl encode -q --no-progress --segment "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" "$@" \
    "$input" "$folder/part-$SLURM_ARRAY_TASK_ID.mov"
status=$?
# Try again, on any node, at most five times; every other status is final.
if [ "$status" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
