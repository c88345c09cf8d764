#!/usr/bin/env bash
# Flux. Set the lines below, then, from the top of the tree:
#   flux batch inputs/batch/flux.sh DECK [table.key=value ...]
# The job submits its successor until all steps are done. What a command line
# gives to flux is not passed on to it: write it here, and in TASKS and CORES.
#FLUX: --job-name=lexikos
#FLUX: --nodes=2
#FLUX: --exclusive
#FLUX: --time-limit=4h
#FLUX: --output=flux-{{id}}.out
set -euo pipefail
LEXIKOS=${LEXIKOS:-build/openmp/lexikos}
TASKS=8          # ranks in all; on GPUs one per GPU, with --gpus-per-task=1 below
CORES=16         # of each rank
# shellcheck source=inputs/batch/chain.sh
source inputs/batch/chain.sh
# source cmake/machines/<machine>/environment.sh

[[ -f $(path_of "${1:-}") ]] || { echo "usage: flux batch inputs/batch/flux.sh DECK" >&2; exit 2; }
export OMP_NUM_THREADS=$CORES

status=0
run_part "$(time_left flux job timeleft)" \
  flux run --ntasks="$TASKS" --cores-per-task="$CORES" -- "$@" || status=$?
((status == 75)) || exit "$status"
# The job is an instance of Flux of its own; its successor belongs outside it.
flux --parent batch inputs/batch/flux.sh "$@"
