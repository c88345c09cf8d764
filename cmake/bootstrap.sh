#!/usr/bin/env bash
# Gets what Lexikos needs and the machine lacks: Debian packages through apt,
# Kokkos and Kokkos Kernels from Debian's `trilinos` source package. What the
# user already has is found first and used. See --help and cmake/README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/../scripts/common.sh"

# Raise when a build switch below changes: older installs are then rebuilt.
RECIPE=1

# What the build and the scripts need; the Python ones only when no
# interpreter has the modules yet.
PACKAGES=(g++ cmake ninja-build make xz-utils libopenmpi-dev openmpi-bin
  libhdf5-dev libtoml11-dev catch2 libdnnl-dev bible-kjv)
PYTHON_PACKAGES=(python3-numpy python3-h5py python3-matplotlib python3-scipy
  python3-sentencepiece)

usage() {
  cat <<HELP
usage: cmake/bootstrap.sh [options]

Installs the missing Debian packages (root or passwordless sudo) and, unless
a Kokkos that fits is found, builds Kokkos and Kokkos Kernels. Steps already
done are skipped: a second run takes seconds.

  --backend NAME    serial, openmp (default), cuda or hip; the last two are
                    only looked for: Debian has no source to build them from
  --prefix DIR      where to install and to look
                    (now: $(default_prefix))
  --developer       also clang-format 14, which the sources are formatted with
  --skip-packages   use the packages that are there (own MPI, HDF5, ...)
  -h, --help        this text

Your own Kokkos and Kokkos Kernels are found through CMAKE_PREFIX_PATH,
Kokkos_ROOT and KokkosKernels_ROOT; your own Python through LEXIKOS_PYTHON.
Exit status: 0 all is there, 1 a step failed, 2 something for you to do.
HELP
}

skip_packages=no

parse_arguments() {
  local argument
  parse_common_options "$@"
  for argument in "${rest[@]}"; do
    case $argument in
      --developer) PACKAGES+=(clang-format-14) ;;
      --skip-packages) skip_packages=yes ;;
      *) die 2 "unknown option '$argument' (see --help)" ;;
    esac
  done
}

# --- Debian packages ---------------------------------------------------------

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_packages() {
  local package wanted=("${PACKAGES[@]}")
  find_python >/dev/null || wanted+=("${PYTHON_PACKAGES[@]}")
  for package in "${wanted[@]}"; do
    installed "$package" || printf '%s\n' "$package"
  done
}

apt_install() {
  local sudo=()
  ((EUID == 0)) || sudo=(sudo -n)
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install "$@"
}

apt_update() {
  local sudo=()
  ((EUID == 0)) || sudo=(sudo -n)
  # A third-party source that does not answer must not stop us; whether the
  # packages can be had is decided by the install that follows.
  "${sudo[@]}" apt-get -q -o Acquire::http::Timeout=20 update || true
}

known_to_apt() {
  local package
  for package in "$@"; do
    [[ -n $(apt-cache madison "$package" 2>/dev/null) ]] || return 1
  done
}

# The package lists may be absent (containers drop them) or out of date: they
# are fetched only when a package is unknown or its download fails.
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then
    note "all there"
    return
  fi
  if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    note "these need root; run this line, then start again:"
    note "sudo apt-get install --no-install-recommends ${missing[*]}"
    die 2 "${#missing[@]} Debian packages are missing"
  fi
  note "${missing[*]}"
  local log=$prefix/log/apt.log
  known_to_apt "${missing[@]}" || apt_update >"$log" 2>&1
  apt_install "${missing[@]}" >>"$log" 2>&1 || {
    apt_update >>"$log" 2>&1
    quietly "$log" apt_install "${missing[@]}"
  }
}

debian_packages() {
  if [[ $skip_packages == yes ]]; then
    note "skipped, as asked"
  elif ! command -v apt-get >/dev/null; then
    note "no apt here. Load or install: a C++20 compiler, CMake >= 3.22, MPI,"
    note "HDF5 (C), toml11, Catch2, and a Python with $PYTHON_MODULES"
  else
    install_packages
  fi
}

choose_python() {
  local python
  python=$(find_python) || {
    note "python3 -m pip install ${PYTHON_MODULES//,/}"
    die 2 "no Python with these modules; set LEXIKOS_PYTHON to one"
  }
  note "$python"
}

# --- Kokkos ------------------------------------------------------------------

# Exit status 0 when the user's (or the system's) Kokkos fits; prints why not.
# In a temporary folder: a cache left behind would hide a newer one.
users_kokkos() {
  local folder version problem where
  folder=$(mktemp -d)
  # A compiler that does not work is not Kokkos's fault: that stops here.
  quietly "$prefix/log/probe.log" cmake -S "$here/probe" -B "$folder" \
    -DLEXIKOS_BACKEND="$backend"
  rm -rf "$folder"
  version=$(probed VERSION)
  problem=$(probed PROBLEM)
  where=$(probed DIR)
  if [[ -z $problem ]]; then
    note "Kokkos $version, Kernels $(probed KERNELS_VERSION): $where"
    return 0
  fi
  [[ -z $version ]] || note "Kokkos $version in $where not used: $problem"
  return 1
}

probed() { sed -n "s/^-- probe $1=//p" "$prefix/log/probe.log"; }

# Turns this machine's Debian sources into source-package ones, in a folder of
# our own, so that neither root nor a change to the system is needed and no
# mirror's name is written here. Keeps only the suites of this release (third
# parties carry no trilinos). Both of apt's notations are read.
private_apt_sources() {
  local out=$1 codename file LIST='' PARTS=''
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-stable}")
  eval "$(apt-config shell LIST Dir::Etc::sourcelist/f PARTS Dir::Etc::sourceparts/d)"
  local suite="^(${codename}|stable|testing|unstable|sid)([-/].*)?$"
  for file in "$PARTS"/*.sources; do
    [[ -f $file ]] || continue
    awk -v suite="$suite" -f "$here/deb822_to_source.awk" "$file"
  done >"$out/lexikos.sources"
  for file in "$LIST" "$PARTS"/*.list; do
    [[ -f $file ]] || continue
    # deb [options] URI suite component...
    awk -v suite="$suite" '$1 == "deb" {
      at = 2
      if ($2 ~ /^\[/) { while ($at !~ /\]$/) at++; at++ }
      if ($(at + 1) ~ suite) { sub(/^[ \t]*deb/, "deb-src"); print }
    }' "$file"
  done >"$out/lexikos.list"
  [[ -s $out/lexikos.sources || -s $out/lexikos.list ]] ||
    die 2 "no Debian source of release '$codename' among apt's sources"
}

private_apt() {
  local apt=$1
  shift
  apt-get -q -o Dir::Etc::SourceList=/dev/null \
    -o Dir::Etc::SourceParts="$apt/sources" -o Dir::State="$apt" \
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
    -o APT::Sandbox::User=root -o Acquire::http::Timeout=30 \
    -o Acquire::Retries=2 "$@"
}

# Downloads the source package (apt checks signatures and sums) and unpacks
# the two folders of it that matter.
get_sources() {
  local work=$1 apt=$1/apt tarball
  rm -rf "$work"
  mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial} "$work/source"
  private_apt_sources "$apt/sources"
  quietly "$prefix/log/source-update.log" private_apt "$apt" update
  # apt puts the files where it stands.
  pushd "$work" >/dev/null
  quietly "$prefix/log/source.log" \
    private_apt "$apt" source --download-only --tar-only trilinos
  popd >/dev/null
  tarball=$(find "$work" -maxdepth 1 -name 'trilinos_*.orig.tar.*' \
    ! -name '*.asc' | head -n 1)
  [[ -n $tarball ]] || die 1 "no trilinos source came (see $prefix/log)"
  tar -xf "$tarball" -C "$work/source" --strip-components=1 --wildcards \
    '*/packages/kokkos/*' '*/packages/kokkos-kernels/*'
  rm -rf "$apt" "$work"/trilinos_*
}

# Kokkos 3.4 relies on <cstdint> coming along by chance, which ended with GCC 13.
# Usage: cmake_install NAME SOURCE DESTINATION CMAKE_OPTIONS...
cmake_install() {
  local name=$1 source=$2 destination=$3 build generator=()
  shift 3
  build=$work/build-$name
  command -v ninja >/dev/null && generator=(-G Ninja)
  rm -rf "$destination"
  quietly "$prefix/log/$name-configure.log" cmake -S "$source" -B "$build" \
    "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$destination" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_CXX_FLAGS="${CXXFLAGS:-} -include cstdint" \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  quietly "$prefix/log/$name-build.log" \
    cmake --build "$build" --parallel "$(cores)"
  quietly "$prefix/log/$name-install.log" cmake --install "$build"
}

# The stamp appears in one rename, after everything else: an interrupted build
# has none and is done again.
stamp() {
  printf 'recipe %s\n' "$RECIPE" >"$1/.lexikos-stamp.new"
  mv "$1/.lexikos-stamp.new" "$1/.lexikos-stamp"
}
stamped() { [[ $(cat "$1/.lexikos-stamp" 2>/dev/null) == "recipe $RECIPE" ]]; }

build_kokkos() {
  local openmp=OFF
  [[ $backend == openmp ]] && openmp=ON
  cmake_install "kokkos-$backend" "$work/source/packages/kokkos" "$1" \
    -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=$openmp \
    -DCMAKE_CXX_STANDARD=17 -DKokkos_CXX_STANDARD=17
  stamp "$1"
}

# Without a BLAS on purpose: oneDNN does the host's matrix products, Kokkos
# Kernels is the portable path, and a second thread pool (OpenBLAS's) spins
# against OpenMP's. Compiled ahead for what the code uses: its execution space,
# rows contiguous (LayoutRight), no sparse types. The rest stays in the headers,
# and the build takes a quarter of the time.
build_kernels() {
  local openmp=OFF serial=ON
  [[ $backend == openmp ]] && openmp=ON serial=OFF
  cmake_install "kokkos-kernels-$backend" \
    "$work/source/packages/kokkos-kernels" "$2" \
    -DKokkos_ROOT="$1" -DCMAKE_CXX_STANDARD=17 \
    -DKokkosKernels_ENABLED_COMPONENTS="BLAS;BATCHED" \
    -DKokkosKernels_ENABLE_TPL_BLAS=OFF -DKokkosKernels_ENABLE_TPL_LAPACK=OFF \
    -DKokkosKernels_INST_FLOAT=ON -DKokkosKernels_INST_DOUBLE=ON \
    -DKokkosKernels_INST_LAYOUTLEFT=OFF -DKokkosKernels_INST_LAYOUTRIGHT=ON \
    -DKokkosKernels_INST_EXECSPACE_SERIAL=$serial \
    -DKokkosKernels_INST_EXECSPACE_OPENMP=$openmp \
    -DKokkosKernels_INST_ORDINAL_INT=OFF -DKokkosKernels_INST_OFFSET_INT=OFF \
    -DKokkosKernels_INST_OFFSET_SIZE_T=OFF \
    -DKokkosKernels_ENABLE_TESTS=OFF -DKokkosKernels_ENABLE_EXAMPLES=OFF
  stamp "$2"
}

# Names end in version and backend; the version is the source's own. A glob
# finds what a run before this one installed.
find_stamped() {
  local folder
  for folder in "$prefix/$1"-[0-9]*-"$backend"; do
    if stamped "$folder"; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  return 1
}

kokkos_version() {
  sed -n 's/^set *(Kokkos_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)).*/\2/Ip' \
    "$work/source/packages/kokkos/CMakeLists.txt" | paste -s -d .
}

build_pair() {
  local version kokkos
  work=$prefix/work-$backend
  if [[ ! -d $work/source/packages/kokkos-kernels/src ]] ||
    [[ -d $work/apt ]]; then
    step "Source of Kokkos (Debian's trilinos package)" get_sources "$work"
  fi
  version=$(kokkos_version)
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
    die 1 "cannot read Kokkos's version in $work/source"
  kokkos=$prefix/kokkos-$version-$backend
  stamped "$kokkos" ||
    step "Kokkos $version, $backend (half a minute)" build_kokkos "$kokkos"
  step "Kokkos Kernels $version, $backend (minutes)" \
    build_kernels "$kokkos" "$prefix/kokkos-kernels-$version-$backend"
  rm -rf "$work"
}

get_kokkos() {
  if users_kokkos; then
    return
  elif find_stamped kokkos >/dev/null && find_stamped kokkos-kernels >/dev/null
  then
    note "bootstrapped before: $(find_stamped kokkos)"
    return
  elif [[ $backend == cuda || $backend == hip ]]; then
    note "load or build Kokkos >= 4 with ${backend^^} and Kokkos Kernels, then"
    note "export CMAKE_PREFIX_PATH=<kokkos>:<kokkos-kernels> and start again"
    die 2 "no Kokkos with ${backend^^} found, and Debian has none to build"
  elif ! command -v apt-get >/dev/null; then
    note "load or build Kokkos >= 3.4 ($backend) and Kokkos Kernels, then"
    note "export CMAKE_PREFIX_PATH=<kokkos>:<kokkos-kernels> and start again"
    die 2 "no Kokkos with ${backend^^} found, and no apt to get its source"
  fi
  build_pair
}

main() {
  parse_arguments "$@"
  # Two clones may start at once; the second waits for the first.
  if command -v flock >/dev/null; then
    exec 9>"$prefix/.lock"
    flock -n 9 || {
      note "another bootstrap is at work in $prefix: waiting"
      flock 9
    }
  fi
  step "Debian packages" debian_packages
  step "Python" choose_python
  # Its parts are timed one by one.
  say "Kokkos and Kokkos Kernels, $backend"
  get_kokkos
  say "bootstrap finished in $SECONDS s"
}

main "$@"
