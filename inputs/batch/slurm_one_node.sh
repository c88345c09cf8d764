#!/usr/bin/env bash
# Slurm, one node. Set the lines below, then, from the top of the tree:
#   sbatch inputs/batch/slurm_one_node.sh DECK [table.key=value ...]
# The job submits its successor until all steps are done. What a command line
# gives to sbatch is not passed on to it: write it here.
#SBATCH --job-name=lexikos
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --output=slurm-%j.out
#SBATCH --exclusive
#SBATCH --open-mode=append
#SBATCH --requeue
# On GPUs, one per task (remove one # to use a line):
##SBATCH --gpus-per-node=4
##SBATCH --account=PROJECT
##SBATCH --partition=QUEUE
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:?submit this with sbatch}"
LEXIKOS=${LEXIKOS:-build/openmp/lexikos}
# shellcheck source=inputs/batch/chain.sh
source inputs/batch/chain.sh
# source cmake/machines/<machine>/environment.sh

[[ -f $(path_of "${1:-}") ]] || { echo "usage: sbatch inputs/batch/slurm_one_node.sh DECK" >&2; exit 2; }
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

status=0
run_part "$(time_left slurm_time_left)" \
  srun --cpus-per-task="$OMP_NUM_THREADS" --cpu-bind=cores --kill-on-bad-exit=1 \
  -- "$@" || status=$?
((status == 75)) || exit "$status"
sbatch inputs/batch/slurm_one_node.sh "$@"
