# shellcheck shell=bash
# JUPITER Booster (JSC): four NVIDIA GH200 a node. Not yet run there: README.md.
module load GCC OpenMPI CUDA HDF5 CMake

# `lexikos -c` says whether this MPI takes device memory; gradients go through the host where not.
# Home and project folders are on a file system that may refuse the locks of HDF5.
export HDF5_USE_FILE_LOCKING=FALSE
export OMP_PROC_BIND=spread OMP_PLACES=cores
