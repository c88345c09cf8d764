# shellcheck shell=bash
# Perlmutter (NERSC), GPU nodes: four NVIDIA A100 each. Not yet run there: README.md.
module load PrgEnv-gnu cudatoolkit craype-accel-nvidia80 cray-hdf5 cmake

# MPI takes device memory.
export MPICH_GPU_SUPPORT_ENABLED=1
# Some of its file systems refuse the locks of HDF5.
export HDF5_USE_FILE_LOCKING=FALSE
export OMP_PROC_BIND=spread OMP_PLACES=threads
