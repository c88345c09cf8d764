# shellcheck shell=bash
# What the job scripts of this folder share: run until the time is nearly up,
# then say whether another job is needed. Sourced from the top of the tree.

# Seconds kept back for the last checkpoint and the end of the job.
MARGIN=${MARGIN:-300}

# Seconds of the notations batch systems use: [days-]hours:minutes:seconds,
# minutes:seconds, or seconds.
seconds_of() {
  awk -v text="$1" 'BEGIN {
    days = 0
    if (split(text, part, "-") == 2) { days = part[1]; text = part[2] }
    n = split(text, part, ":")
    for (i = 1; i <= n; i++) total = 60 * total + part[i]
    printf "%d\n", 86400 * days + total
  }'
}

clock_of() { printf '%02d:%02d:%02d\n' $(($1 / 3600)) $(($1 % 3600 / 60)) $(($1 % 60)); }

# The run's folder: runs/ and the deck's name, unless RUN says otherwise.
run_folder() {
  local name
  name=$(basename "$1")
  printf '%s\n' "${RUN:-runs/${name%.toml}}"
}

# Usage: run_part SECONDS_LEFT LAUNCHER... -- DECK [table.key=value ...]
# Goes on from the newest checkpoint, or starts. Exit status: 0 finished,
# 75 another job is needed, else the failure, after which none must follow.
run_part() {
  local seconds=$(($1 - MARGIN)) launcher=() folder log status=0
  shift
  while [[ $1 != -- ]]; do
    launcher+=("$1")
    shift
  done
  shift
  if ((seconds < 60)); then
    echo "error: the job's time is shorter than MARGIN ($MARGIN s) and a minute" >&2
    return 2
  fi
  folder=$(run_folder "$1")
  mkdir -p "$folder"
  log=$folder/job.log
  touch "$folder/.job-began"
  "${launcher[@]}" "${LEXIKOS:?}" -i "$1" -d "$folder" -r latest \
    -t "$(clock_of "$seconds")" "${@:2}" 2>&1 | tee "$log" || status=$?
  ((status == 0)) || return "$status"
  # The summary at the end has a state for each member.
  grep -qE ' (to be continued|not run)$' "$log" || return 0
  if [[ -e $folder/STOP ]]; then
    echo "$folder/STOP is there: no further job"
    return 0
  fi
  # A job that got nowhere would be followed by the same, for ever.
  if [[ -z $(find "$folder" -name 'checkpoint_*.h5' \
    -newer "$folder/.job-began" -print -quit) ]]; then
    echo "error: no checkpoint in this job's time: ask for more, see $log" >&2
    return 5
  fi
  return 75
}
