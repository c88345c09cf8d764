#!/usr/bin/env bash
# PBS. Set the lines below, then, from the top of the tree:
#   qsub -v DECK=inputs/first_run/compare.toml inputs/batch/pbs.sh
# The job submits its successor until all steps are done. What a command line
# gives to qsub is not passed on to it: write it here.
#PBS -N lexikos
#PBS -l select=2:ncpus=64:mpiprocs=4:ompthreads=16
#PBS -l walltime=04:00:00
#PBS -j oe
# On GPUs add :ngpus=4 to the select line. (Remove one # to use a line:)
##PBS -A PROJECT
##PBS -q QUEUE
set -euo pipefail
cd "${PBS_O_WORKDIR:?submit this with qsub}"
LEXIKOS=${LEXIKOS:-build/openmp/lexikos}
# shellcheck source=inputs/batch/chain.sh
source inputs/batch/chain.sh
# source cmake/machines/<machine>/environment.sh

[[ -f $(path_of "${DECK:-}") ]] || { echo "usage: qsub -v DECK=<deck> inputs/batch/pbs.sh" >&2; exit 2; }
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

ranks=$(wc -l <"$PBS_NODEFILE")
status=0
run_part "$(time_left pbs_time_left)" \
  mpiexec -n "$ranks" -- "$DECK" || status=$?
((status == 75)) || exit "$status"
export DECK # by its name, so that no comma or blank in it matters
qsub -v DECK inputs/batch/pbs.sh
