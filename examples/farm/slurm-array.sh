#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm: one task for each segment, and a job that joins them.
#
#   N=32
#   job=$(sbatch --parsable --array=1-$N examples/farm/slurm-array.sh film.mov /scratch/film $N --quality 0.6)
#   sbatch --dependency=afterok:$job --wrap "hwctl join film-hevc.mov /scratch/film/part-*.mov --from film.mov"
#
# Single segments again, such as those that failed: the same with --array=3,7 and the same N.
#
#SBATCH --job-name=hwctl-segments
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
#SBATCH --requeue
set -u
[ $# -ge 3 ] || { echo "usage: sbatch --array=1-N $0 INPUT FOLDER N [OPTION...]" >&2; exit 64; }
# SLURM_ARRAY_TASK_COUNT is the number of tasks of this array, not of segments.
input=$1 folder=$2 count=$3
shift 3
mkdir -p "$folder"
hwctl encode -q --no-progress --segment "$SLURM_ARRAY_TASK_ID/$count" "$@" \
    "$input" "$folder/part-$SLURM_ARRAY_TASK_ID.mov"
status=$?
# Try again, on any node, at most five times; every other status is final.
if [ "$status" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
