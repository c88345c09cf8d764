#!/usr/bin/env bash
# From a fresh clone to a report with figures. Steps already done are skipped.
set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<HELP
usage: scripts/quickstart.sh [options]

Gets what is missing, builds, turns the King James Bible into tokens, trains
one small model per input interface (inputs/first_run/compare.toml) and writes
runs/first_run/report.html. Twenty minutes at most on two cores. Stop it at any
time: started again, it goes on where it was.

  --backend NAME   serial, openmp (default), cuda or hip
  --prefix DIR     where dependencies are installed
                   (now: $(default_prefix))
  -h, --help       this text

Exit status: 0 the report is there, 1 a step failed, 2 something for you to
do; otherwise that of the program that failed.
HELP
}

DECK=inputs/first_run/compare.toml
TOKENS=runs/data/bible.h5
RUN=runs/first_run
REPORT=$RUN/report.html

# The tokens file appears only when it is whole, so that it is there means that
# it is done.
prepare_tokens() {
  if [[ -f $TOKENS ]]; then
    note "$TOKENS is there"
    return
  fi
  mkdir -p "$(dirname "$TOKENS")"
  "$python" inputs/prepare/prepare.py bible --out "$TOKENS"
}

# One process with all cores. `-r latest` goes on from the newest checkpoint of
# each member; where there is none it starts, where all is done it trains none.
# Waiting threads sleep: spinning ones take the cores from whatever else runs,
# and a step on a busy machine then takes twice as long.
train() {
  OMP_NUM_THREADS=$(cores) OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} \
    "build/$backend/lexikos" -i "$DECK" -r latest
}

# The cosines of the trained embeddings' rows, which the report shows.
measure() {
  if [[ -f $RUN/capacity.h5 ]] && [[ -z $(find "$RUN" -name embedding.h5 \
    -newer "$RUN/capacity.h5" -print -quit) ]]; then
    note "$RUN/capacity.h5 is newer than the embeddings"
    return
  fi
  local files
  files=$(printf '"%s", ' "$RUN"/*/embedding.h5)
  OMP_NUM_THREADS=$(cores) "build/$backend/lexikos" -d "$RUN" \
    -i inputs/papers/capacity/models.toml "capacity.files=[${files%, }]" \
    "capacity.tokens=$TOKENS"
}

write_report() {
  if [[ -f $REPORT ]] && [[ -z $(find "$RUN" postprocess -newer "$REPORT" \
    \( -name '*.h5' -o -name '*.py' \) -print -quit) ]]; then
    note "$REPORT is newer than all it is made of"
    return
  fi
  "$python" -m postprocess report "$RUN"
  [[ -s $REPORT ]] || die 1 "no $REPORT was written"
}

main() {
  parse_common_options "$@"
  ((${#rest[@]} == 0)) || die 2 "unknown option '${rest[0]}' (see --help)"
  cd "$root"
  set_up
  # The tests, which cost as much again, are left to scripts/test.sh.
  step "Configure in build/$backend" configure "build/$backend"
  step "Build" compile "build/$backend" --target lexikos
  step "Tokens" prepare_tokens
  step "Train ($DECK)" train
  step "Geometry" measure
  step "Report" write_report
  say "finished in $SECONDS s; open $root/$REPORT"
}

main "$@"
