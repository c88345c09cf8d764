# What cuda.sh and hip.sh share: the headers of Kokkos with a device backend switched on, and a loop
# over the source files. Sourced by them, not run.
# shellcheck shell=bash

# shellcheck source=tests/portability/debian.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

build=
out=
selection=all
files=()

device_arguments() {
  local argument
  parse_common_options "$@"
  set -- "${rest[@]}"
  while (($#)); do
    argument=$1
    shift
    case $argument in
      --build) build=${1:?--build needs a folder} && shift ;;
      --out) out=${1:?--out needs a folder} && shift ;;
      --kernels) selection=kernels ;;
      -*) die 2 "unknown option '$argument' (see --help)" ;;
      *) files+=("$(realpath "$argument")") ;;
    esac
  done
  [[ -n $out ]] || out=$(mktemp -d)
  mkdir -p "$out"
  [[ -n $build ]] || build=$(first_build) || die 2 "no configured build folder; scripts/test.sh makes one"
  [[ -f $build/generated/include_folders ]] || die 2 "'$build' is not a configured build folder"
}

first_build() {
  local folder
  for folder in "$root/build/openmp" "$root/build/ci"; do
    if [[ -f $folder/CMakeCache.txt ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  return 1
}

# The package libkokkos-dev of Debian unstable has the headers of Kokkos 5; it is downloaded, checked
# by apt and unpacked, not installed. The address is that of the machine's own Debian source.
fetch_headers() {
  local to=$1 apt=$1/apt uri
  uri=$(debian_source) ||
    not_checked "no Kokkos 5 headers in LEXIKOS_KOKKOS_HEADERS, and no Debian source among apt's"
  mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
  printf 'deb [check-valid-until=no] %s unstable main\n' "$uri" >"$apt/sources/unstable.list"
  local options=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources"
    -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache"
    -o APT::Sandbox::User=root -o Acquire::http::Timeout=30)
  (cd "$to" && apt-get "${options[@]}" update && apt-get "${options[@]}" download libkokkos-dev) \
    >"$to/apt.log" 2>&1 || not_checked "libkokkos-dev of Debian unstable cannot be had (see $to/apt.log)"
  dpkg -x "$to"/libkokkos-dev_*.deb "$to/unpacked"
  rm -rf "$apt" "$to"/libkokkos-dev_*.deb
}

# Usage: kokkos_headers NAME DEFINES UPPER Setup. Leaves the include options in kokkos_include: the
# headers as installed, and before them edited copies of the five that say which backends there are.
kokkos_headers() {
  local name=$1 defines=$2 upper=$3 setup=$4 headers=${LEXIKOS_KOKKOS_HEADERS:-} work edited
  if [[ -z $headers ]]; then
    work=$prefix/kokkos-headers
    [[ -d $work/unpacked ]] || {
      rm -rf "$work"
      mkdir -p "$work"
      step "Headers of Kokkos 5 (Debian unstable)" fetch_headers "$work"
    }
    headers=$work/unpacked/usr/include/kokkos
  fi
  [[ -f $headers/KokkosCore_config.h ]] || die 2 "no KokkosCore_config.h in '$headers'"
  local version
  version=$(sed -nE 's/#define KOKKOS_VERSION ([0-9])0?([0-9]+)0([0-9])$/\1.\2.\3/p' \
    "$headers/KokkosCore_config.h")
  # A newer one from Debian must not turn a tree red that did not change; named by hand, any 5 is tried.
  [[ $version == 5.2.* || ($version == 5.* && -n ${LEXIKOS_KOKKOS_HEADERS:-}) ]] ||
    not_checked "the headers are of Kokkos ${version:-?}, not of 5.2, which this was written for"
  note "Kokkos $version headers"
  edited=$out/kokkos-$name
  mkdir -p "$edited/desul/atomics"
  { cat "$headers/KokkosCore_config.h"; printf '%s\n' "$defines"; } >"$edited/KokkosCore_config.h"
  local part
  for part in "Fwd fwd/Kokkos_Fwd_$upper" "Declare decl/Kokkos_Declare_$upper" \
    "Setup setup/Kokkos_Setup_$setup"; do
    sed "\$a #include <${part#* }.hpp>" "$headers/KokkosCore_Config_${part%% *}Backend.hpp" \
      >"$edited/KokkosCore_Config_${part%% *}Backend.hpp"
  done
  { cat "$headers/desul/atomics/Config.hpp"; printf '#define DESUL_ATOMICS_ENABLE_%s\n' "$upper"; } \
    >"$edited/desul/atomics/Config.hpp"
  kokkos_include=(-I "$edited" -isystem "$headers")
}

# Include folders of the host build, without those of its Kokkos and without ours.
host_includes() {
  local folder
  while read -r folder; do
    if [[ -d $folder && $folder != /usr/include && $folder != "$root"/* && $folder != "$build"/* &&
      ! -f $folder/KokkosCore_config.h && ! -f $folder/KokkosBlas.hpp && ! -f $folder/KokkosKernels_config.h ]]; then
      printf '%s\n' "$folder"
    fi
  done <"$build/generated/include_folders"
}

# Every source file, or with --kernels those that have a kernel of their own or call a GPU's library.
# A device build has neither oneDNN nor, here, Kokkos Kernels.
source_files() {
  local pattern=.
  [[ $selection == all ]] || pattern='KOKKOS_LAMBDA|KOKKOS_FUNCTION|cublas'
  grep -rlE --include='*.cpp' --exclude={onednn,kokkos_kernels}.cpp "$pattern" "$root/src" "$root/physics-style" | sort
}

# Usage: compile_all COMPILER OPTIONS... Compiles each file, as many at once as there are cores, and
# with no file named the planted mistakes too, of which none may compile.
compile_all() {
  local include=() folder found whole=no
  while read -r folder; do include+=(-isystem "$folder"); done < <(host_includes)
  if ((${#files[@]} == 0)); then
    whole=yes
    mapfile -t files < <(source_files)
  fi
  command=("$@" "${kokkos_include[@]}" "${include[@]}" -I "$root/src" -I "$root/physics-style"
    -I "$build/generated" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  printf '%q ' "${command[@]}" >"$out/command"
  say "${#files[@]} files"
  compile_each "${files[@]}"
  found=$(counted ok)
  say "$found compile, $(counted FAILED) do not"
  ((found == ${#files[@]})) || return 1
  [[ $whole == yes ]] || return 0
  say "planted mistakes: none may compile"
  compile_each "$root"/tests/portability/planted/*.cpp
  (($(counted ok) == 0 && $(counted FAILED) > 0)) || die 1 "a planted mistake was not found"
  say "all found"
}

counted() { grep -c "^  $1 " "$out/result" || true; }

# Leaves one line a file in $out/result.
compile_each() {
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(cores)" bash -c '
    log=$1/$(sed "s|^$2/||; s|/|_|g" <<<"$3").log
    start=$SECONDS
    if eval "$(cat "$1/command")" -c "\"$3\"" -o "\"$log.o\"" >"$log" 2>&1; then
      echo "  ok      ${3#"$2"/}  $((SECONDS - start)) s"
    else
      echo "  FAILED  ${3#"$2"/}  (see $log)"
    fi
    rm -f "$log.o"' bash "$out" "$root" | tee "$out/result"
}
