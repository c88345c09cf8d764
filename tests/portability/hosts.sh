#!/usr/bin/env bash
# Builds Lexikos in other ways that this machine's cores allow, and runs the whole suite with each.
# See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/../../scripts/common.sh"

KINDS=(serial clang sanitizers emulated)

usage() {
  cat <<HELP
usage: tests/portability/hosts.sh [options] [kind...] [-- ctest options]

  serial       Kokkos with no backend but Serial
  clang        clang++ (CLANG names another), OpenMP
  sanitizers   g++, OpenMP, address and undefined-behaviour sanitizers
  emulated     OpenMP in place of a device (src/emulation/README.md); operators and
               models also with lanes that take turns
  none named   all four; half an hour each on two cores

  --prefix DIR     where dependencies are installed
                   (now: $(default_prefix))
  --out DIR        build folders (default: build/hosts)
  -h, --help       this text

Exit status: 0 every test passed with each (a kind whose compiler is not
there is said to be not checked), 1 a build or a test fails, 2 something for
you to do.
HELP
}

out=$root/build/hosts
kinds=()

parse_arguments() {
  parse_test_options "$@"
  set -- "${rest[@]}"
  while (($#)); do
    case $1 in
      --out) out=${2:?--out needs a folder} && shift ;;
      serial | clang | sanitizers | emulated) kinds+=("$1") ;;
      *) die 2 "unknown argument '$1' (see --help)" ;;
    esac
    shift
  done
  ((${#kinds[@]})) || kinds=("${KINDS[@]}")
}

# Usage: check KIND CMAKE_OPTIONS... Prints ctest's line of counts. Without portability.cuda, which is
# the same whatever the host's build is.
check() {
  local kind=$1 build=$out/$1
  shift
  step "$kind: dependencies" set_up
  step "$kind: configure" configure "$build" -DLEXIKOS_TESTS=ON -DLEXIKOS_WERROR=ON "$@"
  step "$kind: build (log: $build/build.log)" compile "$build" -- -k 0
  run_tests "$kind" "$build" "$build/tests.log"
}

# Usage: run_tests KIND BUILD LOG CTEST_OPTIONS...
run_tests() {
  local kind=$1 build=$2 log=$3
  shift 3
  say "$kind: tests (log: $log)"
  ctest --test-dir "$build" --output-on-failure -j "$(cores)" --no-tests=error -E '^portability\.cuda' \
    "$@" "${ctest_options[@]}" </dev/null >"$log" 2>&1 || failed+=("$kind")
  grep -E '^[0-9]+% tests passed|\*\*\*' "$log" | sed 's/^/    /' || true
}

main() {
  local kind compiler
  failed=()
  parse_arguments "$@"
  for kind in "${kinds[@]}"; do
    backend=openmp
    case $kind in
      serial)
        backend=serial
        check serial
        ;;
      clang)
        compiler=${CLANG:-$(command -v clang++ || true)}
        if [[ -z $compiler ]]; then
          say "clang: not checked: no clang++ on PATH or in CLANG"
          continue
        fi
        note "$("$compiler" --version | head -n 1)"
        check clang -DCMAKE_CXX_COMPILER="$compiler"
        ;;
      emulated)
        check emulated -DLEXIKOS_EMULATE_DEVICE=ON
        LEXIKOS_EMULATED_LANES=turns run_tests "emulated, in turns" "$out/emulated" "$out/emulated/turns.log" \
          -L '^(kernels|physics-style|optim)$'
        ;;
      sanitizers)
        # With -O2: the suite trains, and unoptimised it takes hours.
        check sanitizers -DLEXIKOS_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
        ;;
    esac
  done
  ((${#failed[@]} == 0)) || die 1 "tests fail with: ${failed[*]}"
}

main "$@"
