# shellcheck shell=bash
# Helpers shared by cmake/bootstrap.sh, scripts/quickstart.sh and scripts/test.sh.
# Sourced, never run. The caller has already set `set -euo pipefail`.

# --- talking -----------------------------------------------------------------

say() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

# One line on stderr, then out. Usage: die STATUS MESSAGE...
die() {
  local status=$1
  shift
  printf 'error: %s\n' "$*" >&2
  exit "$status"
}

# Runs a command as a named step and prints how long it took. The command is
# not called inside a condition: that would switch `set -e` off within it.
step() {
  local title=$1 start=$SECONDS
  shift
  say "$title"
  "$@"
  note "$((SECONDS - start)) s"
}

# Runs a noisy command with its output in a log; shows the end on failure.
# The log is kept either way. Usage: quietly LOG COMMAND...
quietly() {
  local log=$1 status=0
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    tail -n 25 "$log" >&2
    die 1 "'$(basename "$1")' failed (status $status); whole log: $log"
  fi
}

# A path as the shell has it: a leading ~ that --option=~/x or quotes have kept is the home folder.
path_of() {
  # shellcheck disable=SC2088  # what is looked for is the tilde itself
  case $1 in
    '~' | '~/'*) printf '%s\n' "${HOME:?HOME is not set, and a path begins with ~}${1#\~}" ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# --- where things are --------------------------------------------------------

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The folder that holds what bootstrap builds; shared by every clone.
default_prefix() {
  path_of "${LEXIKOS_PREFIX:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/lexikos}"
}

# Cores this process may use (a batch system may grant fewer than there are).
cores() { nproc 2>/dev/null || echo 1; }

# `valid_backend NAME` fails with one line when the name is not a backend.
valid_backend() {
  case $1 in
    serial | openmp | cuda | hip) ;;
    *) die 2 "unknown backend '$1' (serial, openmp, cuda or hip)" ;;
  esac
}

# --- options -----------------------------------------------------------------

# Reads what every script takes into `backend` and `prefix`, prints the text of
# the caller's `usage` for --help, and leaves the other arguments in `rest`.
backend=openmp
prefix=$(default_prefix)
rest=()
parse_common_options() {
  while (($#)); do
    case $1 in
      --backend | --prefix)
        (($# > 1)) || die 2 "$1 needs a value (see --help)"
        if [[ $1 == --backend ]]; then backend=$2; else prefix=$2; fi
        shift
        ;;
      --backend=*) backend=${1#*=} ;;
      --prefix=*) prefix=${1#*=} ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) rest+=("$1") ;;
    esac
    shift
  done
  valid_backend "$backend"
  prefix=$(path_of "$prefix")
  mkdir -p "$prefix/log" || die 2 "cannot write to --prefix $prefix"
  prefix=$(cd "$prefix" && pwd)
}

# The same; what stands behind `--` goes to `ctest_options`.
ctest_options=()
parse_test_options() {
  local ours=()
  while (($#)) && [[ $1 != -- ]]; do
    ours+=("$1")
    shift
  done
  # shellcheck disable=SC2034  # the caller reads it
  ctest_options=("${@:2}")
  parse_common_options "${ours[@]}"
}

# --- Python ------------------------------------------------------------------

PYTHON_MODULES="numpy, h5py, matplotlib, scipy, sentencepiece"

# Prints the first interpreter that imports everything the scripts need. The
# first python3 on PATH is often a pyenv or conda one that lacks them, while
# the system's has them from apt: hence the third candidate.
find_python() {
  local candidate path
  for candidate in "${LEXIKOS_PYTHON:-}" python3 /usr/bin/python3; do
    [[ -n $candidate ]] || continue
    path=$(command -v "$candidate") || continue
    if "$path" -c "import $PYTHON_MODULES" >/dev/null 2>&1; then
      printf '%s\n' "$path"
      return 0
    fi
  done
  return 1
}

# --- building ----------------------------------------------------------------

# Gets the dependencies and sets `python`. A process of its own, so that its
# lock is released when it ends. Usage: set_up [BOOTSTRAP_OPTIONS...]
set_up() {
  "$root/cmake/bootstrap.sh" --backend "$backend" --prefix "$prefix" "$@"
  python=$(find_python) || die 2 "no Python with $PYTHON_MODULES"
}

# Usage: configure BUILD_FOLDER CMAKE_OPTIONS...
configure() {
  local build=$1 generator=()
  shift
  # A folder configured before keeps the generator it has.
  if [[ ! -f $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  mkdir -p "$build"
  quietly "$build/configure.log" cmake -S "$root" -B "$build" \
    "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DLEXIKOS_BACKEND="$backend" -DLEXIKOS_PREFIX="$prefix" \
    -DLEXIKOS_PYTHON="$python" "$@"
  sed -n '/built on$/,/^-- \|^$/p' "$build/configure.log" |
    sed -n 's/^  /    /p'
}

# Usage: compile BUILD_FOLDER [CMAKE_BUILD_OPTIONS...]
compile() {
  local build=$1
  quietly "$build/build.log" cmake --build "$build" --parallel "$(cores)" \
    "${@:2}"
}
