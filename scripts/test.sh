#!/usr/bin/env bash
# Checks the sources, builds Lexikos with its tests, runs them, and says how many passed.
set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<HELP
usage: scripts/test.sh [options] [-- ctest options]

Gets what is missing (cmake/bootstrap.sh), checks the sources
(scripts/check_tree.py), builds in build/<backend>, runs the tests and ends in
a line 'N passed, M failed'. After '--' the arguments go to ctest:
scripts/test.sh -- -R restart

  --all            also what is slow and rarely finds something
  --backend NAME   serial, openmp (default), cuda or hip
  --prefix DIR     where dependencies are installed
                   (now: $(default_prefix))
  --werror         warnings are errors, and the sources' format must be
                   checked; builds in build/ci
  -h, --help       this text

Exit status: 0 every test passed, 1 one failed, none ran or the build failed,
2 something for you to do.
HELP
}

werror=OFF
developer=()
strict=()

parse_arguments() {
  local argument
  parse_test_options "$@"
  for argument in "${rest[@]}"; do
    case $argument in
      --werror)
        werror=ON
        developer=(--developer)
        strict=(--strict)
        ;;
      --all)
        export LEXIKOS_TEST_ALL=1 # tests/harness/runs.py
        ctest_options=(-C all "${ctest_options[@]}")
        ;;
      *) die 2 "unknown option '$argument' (see --help)" ;;
    esac
  done
}

# Counts from what ctest printed, not from its exit status, which is 0 also
# when no test ran.
summarise() {
  local output=$1 passed failed other
  passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec' \
    "$output" || true)
  failed=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of.*/\1/p' \
    "$output")
  other=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*\*\*\*(Skipped|Not Run \(Disabled\))' \
    "$output" || true)
  ((other == 0)) || note "$other skipped: not counted as passed"
  printf '\n%d passed, %d failed\n' "$passed" "${failed:-0}"
  [[ ${failed:-none} == 0 ]] && ((passed > 0))
}

main() {
  local build output
  parse_arguments "$@"
  cd "$root"
  build=build/$backend
  [[ $werror == OFF ]] || build=build/ci
  set_up "${developer[@]}"
  step "Sources" "$python" scripts/check_tree.py "${strict[@]}"
  step "Configure in $build" configure "$build" \
    -DLEXIKOS_TESTS=ON -DLEXIKOS_WERROR=$werror
  step "Build with tests (log: $build/build.log)" compile "$build"
  say "Tests"
  output=$build/tests.log
  ctest --test-dir "$build" --output-on-failure -j "$(cores)" \
    "${ctest_options[@]}" </dev/null 2>&1 | tee "$output" || true
  summarise "$output"
}

main "$@"
