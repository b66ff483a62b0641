#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=explain
#SBATCH --cpus-per-task=2
# One task of a Slurm job array explains one part of a folder of inputs. All tasks fill one folder that they share.
#
# sbatch --array=1-8 explainarray.sh MODEL --input image=pictures/ --output-dir results [OPTION ...]
#
# The arguments are those of `retrograde-cli explain`; --run run.retro keeps every run with its ledger beside the
# result. The parts are the tasks of the array, which begins at 1. What is complete is skipped, so the same call goes on
# where one was cut off. Some of the tasks alone: PARTS=8 sbatch --array=3,5 explainarray.sh ...
# RETROGRADE_CLI names the program where it is not on the path.
set -euo pipefail

part=${SLURM_ARRAY_TASK_ID:?this is a task of a job array: sbatch --array=1-N}
if [ -z "${PARTS:-}" ] && [ "$SLURM_ARRAY_TASK_COUNT" -ne "$SLURM_ARRAY_TASK_MAX" ]; then
    echo "the array is not 1-N: PARTS says how many parts there are" >&2
    exit 2
fi
exec "${RETROGRADE_CLI:-retrograde-cli}" explain "$@" --shard "$part/${PARTS:-$SLURM_ARRAY_TASK_MAX}" \
    --threads "${SLURM_CPUS_PER_TASK:-1}"
