# shellcheck shell=bash
# Frontier (OLCF): four AMD MI250X a node, eight devices. Not yet run there: README.md.
module load PrgEnv-amd rocm craype-accel-amd-gfx90a cray-hdf5 cmake

# MPI takes device memory.
export MPICH_GPU_SUPPORT_ENABLED=1
# hipcc does not know Cray's MPI by itself.
export CXXFLAGS="${CXXFLAGS:-} -I${MPICH_DIR:?cray-mpich is not loaded}/include"
export LDFLAGS="${LDFLAGS:-} -L${MPICH_DIR}/lib -lmpi ${PE_MPICH_GTL_DIR_amd_gfx90a:-} ${PE_MPICH_GTL_LIBS_amd_gfx90a:-}"
export OMP_PROC_BIND=spread OMP_PLACES=threads
