#!/usr/bin/env bash
# Builds for the GPU of this machine, runs the C++ tests of numbers on it, compares 50 steps with a host's,
# and times training in bf16. See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/../../scripts/common.sh"

usage() {
  cat <<HELP
usage: tests/device/check.sh --backend cuda|hip --arch ARCH --kokkos DIR --kernels DIR [options]
       tests/device/check.sh --host [options]

Needs no network: MPI, HDF5, toml11, Catch2 and the GPU's toolkit must be
there, and the source folders of Kokkos and Kokkos Kernels (>= 4).

  --backend NAME     cuda or hip
  --arch ARCH        Kokkos's name of the GPU: AMPERE80, HOPPER90, AMD_GFX90A ...
  --kokkos DIR       source folder of Kokkos
  --kernels DIR      source folder of Kokkos Kernels
  --host             the same on this machine's cores, timed shapes shrunk:
                     checks this script, not a device
  --build DIR        a folder to build in, or one that is configured already
                     (default: build/device)
  --write-losses     writes host_losses.txt instead of comparing (with --host)
  -h, --help         this text

Exit status: 0 all is well, 1 something failed, 2 something for you to do.
HELP
}

host=no write_losses=no arch='' kokkos='' kernels='' build=$root/build/device
# nats: fp32 sums of up to L (3 D + E + T + F) + D = 2,112 terms in two orders, 2 (2,112 + 3) 2^-24 at most, of losses and
# gradients of norm 1: of log(V) and of 50 updates at the peak rate, 6.4
tolerance=1.6e-3

read_arguments() {
  parse_common_options "$@"
  set -- "${rest[@]}"
  while (($#)); do
    case $1 in
      --host) host=yes && shift && continue ;;
      --write-losses) write_losses=yes && shift && continue ;;
      --arch | --kokkos | --kernels | --build) (($# > 1)) || die 2 "$1 needs a value (see --help)" ;;
      *) die 2 "unknown option '$1' (see --help)" ;;
    esac
    case $1 in
      --arch) arch=$2 ;;
      --kokkos) kokkos=$(realpath "$2") ;;
      --kernels) kernels=$(realpath "$2") ;;
      --build) build=$(realpath -m "$2") ;;
    esac
    shift 2
  done
  if [[ $host == yes ]]; then return; fi
  [[ $write_losses == no ]] || die 2 "--write-losses goes with --host"
  [[ $backend == cuda || $backend == hip ]] || die 2 "say --backend cuda or hip, or --host"
  [[ -n $arch ]] || die 2 "say --arch, Kokkos's name of the GPU (see --help)"
  [[ -f $kokkos/CMakeLists.txt ]] || die 2 "--kokkos names no source folder"
  [[ -f $kernels/CMakeLists.txt ]] || die 2 "--kernels names no source folder"
}

# Usage: install NAME SOURCE CMAKE_OPTIONS... into $build/prefix
install() {
  local name=$1 source=$2
  shift 2
  [[ ! -f $build/prefix/.$name ]] || return 0
  quietly "$build/$name.log" cmake -S "$source" -B "$build/$name" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$build/prefix" -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_COMPILER="$compiler" "$@"
  quietly "$build/$name.log" cmake --build "$build/$name" --parallel "$(cores)"
  quietly "$build/$name.log" cmake --install "$build/$name"
  touch "$build/prefix/.$name"
}

build_for_device() {
  compiler=hipcc
  if [[ $backend == cuda ]]; then compiler=$kokkos/bin/nvcc_wrapper; fi
  mkdir -p "$build/prefix"
  step "Kokkos" install kokkos "$kokkos" -DKokkos_ENABLE_SERIAL=ON "-DKokkos_ENABLE_${backend^^}=ON" \
    "-DKokkos_ARCH_$arch=ON"
  step "Kokkos Kernels" install kernels "$kernels" -DKokkos_ROOT="$build/prefix" \
    -DKokkosKernels_ENABLED_COMPONENTS="BLAS;BATCHED" -DKokkosKernels_ADD_DEFAULT_ETI=OFF \
    -DKokkosKernels_INST_FLOAT=ON -DKokkosKernels_INST_DOUBLE=ON -DKokkosKernels_INST_LAYOUTRIGHT=ON \
    -DKokkosKernels_ENABLE_TESTS=OFF -DKokkosKernels_ENABLE_EXAMPLES=OFF
  python=$(command -v python3)
  step "Lexikos, configured" configure "$build" -DLEXIKOS_KOKKOS_ARCH="$arch" \
    -DCMAKE_PREFIX_PATH="$build/prefix" -DCMAKE_CXX_COMPILER="$compiler"
}

build_all() {
  mkdir -p "$build"
  if [[ $host == no ]]; then
    build_for_device
  elif [[ ! -f $build/CMakeCache.txt ]]; then
    backend=openmp
    set_up
    step "Lexikos, configured" configure "$build"
  fi
  step "Lexikos, compiled" compile "$build" --target lexikos "${tests[@]/#/test_}"
}

run_tests() {
  local pattern
  pattern=$(IFS='|' && echo "${tests[*]}")
  quietly "$build/tests.log" ctest --test-dir "$build" --output-on-failure \
    -R "\.($pattern)\.np1$" --no-tests=error
  grep -E "tests passed" "$build/tests.log" | sed 's/^/    /'
}

# The losses of the 50 steps, one a line.
losses_of() {
  local folder
  folder=$(mktemp -d)
  "$build/lexikos" -i "$here/steps.toml" -d "$folder/run" >"$folder/text" ||
    die 1 "the 50 steps did not end well"
  sed -nE 's/^step=[0-9]+\/50 .* loss=([^ ]+) .*/\1/p' "$folder/text"
  rm -rf "$folder"
}

compare_losses() {
  local found=$build/losses.txt
  losses_of >"$found"
  if [[ $write_losses == yes ]]; then
    cp "$found" "$here/host_losses.txt"
    note "wrote $here/host_losses.txt"
    return
  fi
  # Prints the largest difference; NaN differs from everything.
  paste "$found" "$here/host_losses.txt" | awk -v most="$tolerance" '
    { d = $1 - $2; if (d < 0) d = -d
      if (NF != 2 || $1 !~ /^[0-9.]+$/ || d > most) bad = bad " " NR
      if (d > largest) largest = d }
    END { printf "    %d steps, largest difference %.4f nats\n", NR, largest
          if (NR != 50 || bad) { print "    steps that differ:" bad; exit 1 } }' ||
    die 1 "losses differ from the host's by more than $tolerance nats"
}

device_name() {
  if [[ $host == yes ]]; then
    echo "host"
  elif [[ $backend == cuda ]]; then
    nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1
  else
    rocm-smi --showproductname | sed -nE 's/.*Card [Ss]eries: *//p' | head -n 1
  fi
}

# TFLOP/s of a device in bf16; nothing for one that peaks.txt has not.
peak_of() {
  awk -v name="$1" '!/^#/ && NF == 2 && index(name, $1) { print $2; exit }' "$here/peaks.txt"
}

# FLOP/s of the line "work", as a plain number.
rate_in() {
  awk '/^work / { v = $(NF - 1); u = $NF
    f["GFLOP/s"] = 1e9; f["TFLOP/s"] = 1e12; f["MFLOP/s"] = 1e6; f["PFLOP/s"] = 1e15
    if (u in f) printf "%.6g\n", v * f[u] }' "$1"
}

# Usage: time_deck NAME
time_deck() {
  local log=$build/bench_$1.log shrunk=() name peak rate
  if [[ $host == yes ]]; then
    shrunk=(transformer.layers=2 transformer.width=64 transformer.heads=2 transformer.context=64
      data.vocabulary_size=512 batch.tokens=512 batch.micro_batch=2 run.steps=3)
  fi
  quietly "$log" "$build/lexikos" -i "$root/inputs/bench/$1.toml" -d "$build/run" "${shrunk[@]}"
  grep -E "^step  |^work  " "$log" | sed 's/^/    /'
  name=$(device_name)
  peak=$(peak_of "$name")
  rate=$(rate_in "$log")
  [[ -n $rate ]] || die 1 "no rate in $log"
  if [[ -z $peak ]]; then
    note "MFU          N/A: no peak of '$name' in peaks.txt"
  else
    note "MFU          $(awk -v r="$rate" -v p="$peak" 'BEGIN { printf "%.1f", r / p / 1e10 }') % of $peak TFLOP/s ($name, bf16, dense)"
  fi
}

tests=(kernels optim interfaces model evaluation transfers)

main() {
  read_arguments "$@"
  build_all
  if [[ $write_losses == no ]]; then step "Tests of numbers" run_tests; fi
  step "50 steps against a host's losses" compare_losses
  [[ $write_losses == no ]] || return 0
  step "124 M parameters, bf16" time_deck device_124m
  step "1.2 G parameters, bf16" time_deck device_1b
  say "all is well ($SECONDS s)"
}

main "$@"
