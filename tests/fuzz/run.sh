#!/usr/bin/env bash
# Searches for inputs that break a reader, guided by coverage: clang's libFuzzer. See README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/../../scripts/common.sh"

usage() {
  cat <<HELP
usage: tests/fuzz/run.sh [options] MINUTES [reader...]

Builds the readers with address and undefined-behaviour sanitizers and
libFuzzer, runs each for its share of MINUTES, one after the other, and ends in
a table. What breaks a reader is made small and stored as
tests/fuzz/cases/<reader>/<name>, once for each place where it ends.

  --out DIR        build folder, logs and raw findings (default: build/fuzz)
  --corpus DIR     inputs found in earlier runs, kept and added to
                   (default: corpus/ in the build folder)
  --prefix DIR     where dependencies are installed
                   (now: $(default_prefix))
  -h, --help       this text

CLANG names another clang++. Exit status: 0 nothing broke, 1 something did,
2 something for you to do.
HELP
}

out=$root/build/fuzz
corpus=
minutes=
readers=()

parse_arguments() {
  parse_common_options "$@"
  set -- "${rest[@]}"
  while (($#)); do
    case $1 in
      --out) out=${2:?--out needs a folder} && shift ;;
      --corpus) corpus=${2:?--corpus needs a folder} && shift ;;
      -*) die 2 "unknown option '$1' (see --help)" ;;
      *) if [[ -z $minutes ]]; then minutes=$1; else readers+=("$1"); fi ;;
    esac
    shift
  done
  [[ $minutes =~ ^[1-9][0-9]*$ ]] || die 2 "for how many MINUTES? (see --help)"
  ((${#readers[@]})) || mapfile -t readers < <(cd "$here/readers" && printf '%s\n' *.cpp | sed 's/\.cpp$//')
  local reader
  for reader in "${readers[@]}"; do
    [[ -f $here/readers/$reader.cpp ]] || die 2 "there is no tests/fuzz/readers/$reader.cpp"
  done
  corpus=${corpus:-$out/corpus}
}

# Prints a clang++ that has libFuzzer.
find_clang() {
  local candidate
  for candidate in "${CLANG:-}" clang++ clang++-14; do
    [[ -n $candidate ]] && command -v "$candidate" >/dev/null || continue
    if echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
      "$candidate" -x c++ -fsanitize=fuzzer - -o "$out/probe" 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# What every run of a reader is given: time and memory of one input, and no look for leaks, since HDF5
# keeps memory until exit.
limits=(-timeout=25 -rss_limit_mb=2560 -malloc_limit_mb=1024 -detect_leaks=0)

search() {
  local reader=$1 seconds=$2 kept=$corpus/$1 found=$out/found/$1 words=()
  local dictionary=$here/dictionaries/$reader.txt given=()
  mkdir -p "$kept" "$found"
  [[ ! -f $dictionary ]] || words=(-dict="$dictionary")
  for folder in "$here/seeds/$reader" "$here/cases/$reader"; do
    [[ ! -d $folder ]] || given+=("$folder")
  done
  "$build/tests/fuzz/fuzz_$reader" "${limits[@]}" "${words[@]}" -max_total_time="$seconds" -max_len=65536 \
    -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 -artifact_prefix="$found/" \
    "$kept" "${given[@]}" >"$out/$reader.log" 2>&1 </dev/null || true
}

# Where an input ends: the promise that was not kept, or the first functions of ours on the stack.
place_of() {
  local reader=$1 input=$2
  "$build/tests/fuzz/fuzz_$reader" "${limits[@]}" "$input" 2>&1 </dev/null |
    grep -aE '^finding:|runtime error:|ERROR: (AddressSanitizer|libFuzzer)|^ +#[0-9]+ .*(lexikos|toml)::' |
    sed -E 's/0x[0-9a-f]+//g; s/==[0-9]+==//; s/[0-9]+ (bytes|vs|s)\b//g' | head -n 4 | tr '\n' ' ' || true
}

# Makes one input of each place smaller and stores it; of many findings the smallest are looked at.
store_cases() {
  local reader=$1 input place name seen=$out/found/$1.places
  : >"$seen"
  for input in $(find "$out/found/$reader" -type f -printf '%s %p\n' | sort -n | head -n 30 | cut -d ' ' -f 2); do
    place=$(place_of "$reader" "$input")
    if [[ -z $place ]] || grep -qxF -- "$place" "$seen"; then continue; fi
    printf '%s\n' "$place" >>"$seen"
    name=$(basename "$input" | cut -c1-16)
    mkdir -p "$here/cases/$reader"
    cp "$input" "$here/cases/$reader/$name"
    # A smaller one must end at the same place.
    "$build/tests/fuzz/fuzz_$reader" "${limits[@]}" -minimize_crash=1 -max_total_time=20 -runs=20000 \
      -exact_artifact_path="$out/found/small" "$input" >/dev/null 2>&1 </dev/null || true
    if [[ -f $out/found/small ]] && [[ $(place_of "$reader" "$out/found/small") == "$place" ]]; then
      cp "$out/found/small" "$here/cases/$reader/$name"
    fi
    rm -f "$out/found/small"
    note "stored tests/fuzz/cases/$reader/$name: $(head -c 150 <<<"$place")"
  done
  places=$(wc -l <"$seen")
}

# One line of the table, from the last status line of a search.
report() {
  local reader=$1 seconds=$2 last inputs coverage
  last=$(grep -aE '^#[0-9]+:? .*cov: ' "$out/$reader.log" | tail -n 1 || true)
  inputs=$(sed -nE 's/^#([0-9]+).*/\1/p' <<<"$last")
  coverage=$(sed -nE 's/.*cov: ([0-9]+).*/\1/p' <<<"$last")
  printf '%-20s %12s %9s %8s %8s %8s\n' "$reader" "${inputs:-0}" "${coverage:-0}" \
    "$(find "$corpus/$reader" -type f | wc -l)" "$seconds" "$places" >>"$out/table.txt"
}

main() {
  local clang reader seconds total=0
  parse_arguments "$@"
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  clang=$(find_clang) || die 2 "no clang++ with libFuzzer on PATH or in CLANG; without it: ctest -R fuzz"
  build=$out/build
  step "dependencies" set_up
  step "configure" configure "$build" -DLEXIKOS_TESTS=ON -DLEXIKOS_FUZZER=ON -DCMAKE_CXX_COMPILER="$clang"
  step "build (log: $build/build.log)" compile "$build" -- -k 0 "${readers[@]/#/fuzz_}"
  # Files of inputs go to memory, in a folder that is removed.
  TMPDIR=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
  seconds=$((minutes * 60 / ${#readers[@]}))
  ((seconds > 0)) || die 2 "$minutes minutes are too few for ${#readers[@]} readers"
  printf '%-20s %12s %9s %8s %8s %8s\n' reader inputs coverage corpus seconds places >"$out/table.txt"
  for reader in "${readers[@]}"; do
    say "$reader: $seconds s (log: $out/$reader.log)"
    search "$reader" "$seconds"
    store_cases "$reader"
    report "$reader" "$seconds"
    total=$((total + places))
  done
  cat "$out/table.txt"
  note "$(grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'), $("$clang" --version | head -n 1)"
  ((total == 0)) || die 1 "$total places in which a reader breaks"
}

main "$@"
