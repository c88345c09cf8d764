#!/usr/bin/env bash
# Compiles every source file of src/ and physics-style/ for an AMD GPU, as far as a machine without
# one allows: to objects, with hipcc, against the headers of Kokkos 5. See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/portability/device.sh
source "$here/device.sh"

usage() {
  cat <<HELP
usage: tests/portability/hip.sh [options] [file.cpp...]

Compiles for gfx90a every source file, or those named, and says which fail.
Where hipcc >= 6 or the Kokkos headers cannot be had it prints "not checked"
and the reason.

  --kernels        no file named: only those with kernels of their own
  --prefix DIR     keeps the Kokkos headers (now: $(default_prefix))
  --build DIR      a configured build folder, for the paths of MPI and HDF5
                   (default: build/openmp, then build/ci)
  --out DIR        objects and logs (default: a temporary folder)
  -h, --help       this text

HIPCC names the compiler. LEXIKOS_HIP_ROOT names the folder of a Debian that
has one, entered with chroot (root only); README.md says how it is made.
LEXIKOS_KOKKOS_HEADERS: a folder with the installed headers of Kokkos >= 5.
Exit status: 0 all compile or not checked, 1 a file fails, 2 something for
you to do.
HELP
}

hipcc=()
find_hipcc() {
  if [[ -n ${HIPCC:-} ]]; then
    hipcc=("$HIPCC")
  elif [[ -n ${LEXIKOS_HIP_ROOT:-} ]]; then
    ((EUID == 0)) || not_checked "LEXIKOS_HIP_ROOT is entered with chroot, which only root may"
    hipcc=(chroot "$LEXIKOS_HIP_ROOT" env PATH=/usr/bin:/bin HOME=/tmp hipcc)
  elif command -v hipcc >/dev/null; then
    hipcc=(hipcc)
  else
    not_checked "no hipcc on PATH, in HIPCC or LEXIKOS_HIP_ROOT"
  fi
}

# In a mount namespace of our own, which ends with this process: the same paths inside as outside.
enter_root() {
  if [[ -z ${LEXIKOS_HIP_MOUNTED:-} ]]; then
    LEXIKOS_HIP_MOUNTED=1 exec unshare --mount bash "${BASH_SOURCE[0]}" --prefix "$prefix" --build "$build" \
      --out "$out" "${files[@]}"
  fi
  mount_under "$LEXIKOS_HIP_ROOT" "$root" "$build" "$out" "$prefix"
}

main() {
  device_arguments "$@"
  find_hipcc
  if [[ ${hipcc[0]} == chroot ]]; then enter_root; fi
  local version
  version=$("${hipcc[@]}" --version 2>/dev/null | sed -n 's/^HIP version: *//p')
  [[ ${version%%.*} -ge 6 ]] || not_checked "hipcc ${version:-of unknown version} is too old for Kokkos 5"
  note "hipcc $version, gfx90a"
  kokkos_headers hip "#define KOKKOS_ENABLE_HIP
#define KOKKOS_ARCH_AMD_GFX90A
#define KOKKOS_ARCH_AMD_GPU \"gfx90a\"" HIP HIP
  compile_all "${hipcc[@]}" -x hip -std=c++20 --offload-arch=gfx90a -fopenmp -Wno-unused-command-line-argument \
    -Wno-unused-result -Werror=deprecated-this-capture -DLEXIKOS_HAVE_HIPBLAS
}

main "$@"
