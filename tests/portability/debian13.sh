#!/usr/bin/env bash
# Builds Lexikos and passes its whole suite with the newest of everything: Debian 13's compiler and
# libraries and Debian unstable's Kokkos 5, in a folder of their own. See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/portability/debian.sh
source "$here/debian.sh"

# Kokkos Kernels is not in Debian: the build goes without (LEXIKOS_KOKKOS_KERNELS).
PACKAGES=(g++ cmake ninja-build git mount libopenmpi-dev openmpi-bin libhdf5-dev libtoml11-dev catch2
  libdnnl-dev libkokkos-dev/unstable bible-kjv python3-numpy python3-h5py python3-matplotlib
  python3-scipy python3-sentencepiece)

usage() {
  cat <<HELP
usage: tests/portability/debian13.sh [options] [-- ctest options]

Makes a Debian 13 folder with Kokkos 5 once (minutes, 2 GB), builds there
with warnings as errors and runs the suite. Where that cannot be done (root
and mmdebstrap are needed) it prints "not checked" and the reason.

  --prefix DIR     keeps the folder (now: $(default_prefix))
  --build DIR      build folder (default: a temporary one)
  -h, --help       this text

LEXIKOS_DEBIAN13_ROOT: a folder made before, in place of the prefix's.
Exit status: 0 every test passed or not checked, 1 the build or a test
fails, 2 something for you to do.
HELP
}

build=

parse_arguments() {
  parse_test_options "$@"
  set -- "${rest[@]}"
  while (($#)); do
    case $1 in
      --build) build=${2:?--build needs a folder} && shift 2 ;;
      *) die 2 "unknown option '$1' (see --help)" ;;
    esac
  done
  [[ -n $build ]] || build=$(mktemp -d)
  mkdir -p "$build"
  build=$(realpath "$build")
  folder=${LEXIKOS_DEBIAN13_ROOT:-$prefix/debian13}
}

# Renamed into place when all is there: an interrupted one is made again.
make_folder() {
  local uri library
  uri=$(debian_source) || not_checked "no Debian source among apt's"
  rm -rf "$folder.new"
  mmdebstrap --mode=root --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='APT::Default-Release "trixie"' --include="$(IFS=, && printf '%s' "${PACKAGES[*]}")" \
    trixie "$folder.new" "deb $uri trixie main" "deb $uri unstable main" \
    >"$prefix/log/debian13.log" 2>&1 </dev/null ||
    not_checked "the folder cannot be made (see $prefix/log/debian13.log)"
  # Kokkos's CMake files name archives that the package leaves out.
  library=$folder.new/usr/lib/$(gcc -print-multiarch)
  local name
  for name in algorithms simd; do
    [[ -e $library/libkokkos$name.a || -e $library/libkokkos$name.so ]] ||
      ar qc "$library/libkokkos$name.a"
  done
  mv "$folder.new" "$folder"
}

inside() {
  chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(cores)}" "$@"
}

versions() {
  note "$(inside g++ --version | head -n 1)"
  inside dpkg-query -W -f '    ${Package} ${Version}\n' libkokkos-dev libdnnl-dev libhdf5-dev \
    libopenmpi-dev libtoml11-dev catch2
}

check() {
  quietly "$build/configure.log" inside cmake -S "$root" -B "$build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DLEXIKOS_BACKEND=openmp -DLEXIKOS_KOKKOS_KERNELS=OFF \
    -DLEXIKOS_PREFIX=/nowhere -DLEXIKOS_PYTHON=/usr/bin/python3 -DLEXIKOS_WERROR=ON
  step "Build with tests (log: $build/build.log)" \
    quietly "$build/build.log" inside cmake --build "$build" --parallel "$(cores)" -- -k 0
  say "Tests"
  inside ctest --test-dir "$build" --output-on-failure "${ctest_options[@]}" </dev/null
}

main() {
  parse_arguments "$@"
  ((EUID == 0)) || not_checked "the folder is entered with chroot, which only root may"
  if [[ ! -d $folder ]]; then
    command -v mmdebstrap >/dev/null || not_checked "no mmdebstrap to make $folder with"
    step "Debian 13 with Kokkos 5 in $folder (minutes)" make_folder
  fi
  if [[ -z ${LEXIKOS_MOUNTED:-} ]]; then
    LEXIKOS_MOUNTED=1 exec unshare --mount bash "${BASH_SOURCE[0]}" --prefix "$prefix" --build "$build" \
      -- "${ctest_options[@]}"
  fi
  mount_under "$folder" "$root" "$build"
  mount -t tmpfs tmpfs "$folder/dev/shm" 2>/dev/null || true
  versions
  check
}

main "$@"
