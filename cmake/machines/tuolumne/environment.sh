# shellcheck shell=bash
# Tuolumne, as El Capitan (LLNL): four AMD MI300A a node. Not yet run there: README.md.
module load PrgEnv-amd rocm craype-accel-amd-gfx942 cray-hdf5 cmake

# MPI takes device memory.
export MPICH_GPU_SUPPORT_ENABLED=1
# hipcc does not know Cray's MPI by itself.
export CXXFLAGS="${CXXFLAGS:-} -I${MPICH_DIR:?cray-mpich is not loaded}/include"
export LDFLAGS="${LDFLAGS:-} -L${MPICH_DIR}/lib -lmpi ${PE_MPICH_GTL_DIR_amd_gfx942:-} ${PE_MPICH_GTL_LIBS_amd_gfx942:-}"
export OMP_PROC_BIND=spread OMP_PLACES=threads
