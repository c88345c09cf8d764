#!/usr/bin/env bash
# Compiles every source file of src/ and physics-style/ for an NVIDIA GPU, as far as a machine
# without one allows: to objects, with nvcc, against the headers of Kokkos 5. See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/portability/device.sh
source "$here/device.sh"

usage() {
  cat <<HELP
usage: tests/portability/cuda.sh [options] [file.cpp...]

Compiles for sm_90 every source file, or those named, and says which fail.
Where nvcc or the Kokkos headers cannot be had it prints "not checked" and
the reason.

  --kernels        no file named: only those with kernels of their own
  --prefix DIR     keeps the Kokkos headers (now: $(default_prefix))
  --build DIR      a configured build folder, for the paths of MPI and HDF5
                   (default: build/openmp, then build/ci)
  --out DIR        objects and logs (default: a temporary folder)
  -h, --help       this text

NVCC names the compiler, LEXIKOS_KOKKOS_HEADERS a folder with the installed
headers of Kokkos >= 5. Exit status: 0 all compile or not checked, 1 a file
fails, 2 something for you to do.
HELP
}

nvcc=
find_nvcc() {
  local candidate
  for candidate in "${NVCC:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" \
    /usr/local/cuda/bin/nvcc; do
    if [[ -x $candidate ]]; then
      nvcc=$candidate
      return 0
    fi
  done
  return 1
}

main() {
  device_arguments "$@"
  find_nvcc || not_checked "no nvcc on PATH, in NVCC, CUDA_HOME or /usr/local/cuda"
  note "nvcc $("$nvcc" --version | sed -n 's/.*release [0-9.]*, V//p'), sm_90"
  kokkos_headers cuda "#define KOKKOS_ENABLE_CUDA
#define KOKKOS_ARCH_HOPPER90
#define KOKKOS_ARCH_HOPPER" CUDA Cuda
  local toolkit
  toolkit=$(dirname "$(dirname "$nvcc")")
  # 2908: a kernel captures `this`. cublas_v2.h needs no library, since nothing is linked.
  compile_all "$nvcc" -x cu -std=c++20 -arch=sm_90 --expt-extended-lambda \
    --expt-relaxed-constexpr -Xcompiler -fopenmp,-Wno-unknown-pragmas \
    --Werror cross-execution-space-call -diag-error 2908 \
    -DLEXIKOS_HAVE_CUBLAS -isystem "$toolkit/include"
}

main "$@"
