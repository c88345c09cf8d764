# shellcheck shell=bash
# What the job scripts of this folder share: run until the time is nearly up,
# then say whether another job is needed. Sourced from the top of the tree.

# Seconds kept back for the last checkpoint and the end of the job.
MARGIN=${MARGIN:-300}

# Seconds of the time in any notation of the batch systems, the shortest of several
# lines: [days-]hours:minutes:seconds, days-hours[:minutes], days:hours:minutes:seconds,
# minutes:seconds, seconds; fractions are dropped. "unlimited" where there is no limit.
# What is neither is one line on stderr, status 2, and "unknown", which run_part refuses.
seconds_of() {
  local seconds
  if seconds=$(printf '%s\n' "$1" | _shortest_time); then
    printf '%s\n' "$seconds"
    return 0
  fi
  printf "error: the batch system gives '%s' as the job's time, which is no time: %s\n" \
    "$(printf '%s' "$1" | tr '\n' ' ')" "set TIME_LIMIT=hours:minutes:seconds in the job script" >&2
  echo unknown
  return 2
}

_shortest_time() {
  awk '
    function whole(word) { return word ~ /^[0-9]+$/ && length(word) < 10 }
    function seconds(text,   part, field, days, n, i, total) {
      sub(/[.][0-9]+$/, "", text)
      days = split(text, part, "-") == 2
      if (days && !whole(part[1])) return -1
      n = split(days ? part[2] : text, field, ":")
      if (n < 1 || n > (days ? 3 : 4)) return -1
      for (i = 1; i <= n; i++) if (!whole(field[i])) return -1
      if (days) return 86400 * part[1] + 3600 * field[1] + 60 * field[2] + field[3]
      if (n == 4) return 86400 * field[1] + 3600 * field[2] + 60 * field[3] + field[4]
      total = 0
      for (i = 1; i <= n; i++) total = 60 * total + field[i]
      return total
    }
    { gsub(/^[ \t\r]+|[ \t\r]+$/, "") }
    $0 == "" { next }
    tolower($0) ~ /^(unlimited|infinite|infinity|inf)$/ { endless = 1; next }
    { found = seconds($0); if (found < 0) exit failed = 1 }
    shortest == "" || found < shortest { shortest = found }
    END {
      if (failed || (shortest == "" && !endless)) exit 1
      if (shortest == "") print "unlimited"; else printf "%.0f\n", shortest
    }'
}

# What is left of TIME_LIMIT, if it is set, else what the batch system says: the output of
# COMMAND..., as seconds_of gives it. Usage: time_left COMMAND...
time_left() {
  local limit
  if [[ -n ${TIME_LIMIT:-} ]]; then
    limit=$(seconds_of "$TIME_LIMIT") || { echo unknown; return 2; }
    _less_what_is_gone "$limit"
    return
  fi
  seconds_of "$("$@" || echo "(status $? of $1)")"
}

_less_what_is_gone() {
  if [[ $1 == unlimited ]]; then echo "$1"; else echo $(($1 > SECONDS ? $1 - SECONDS : 0)); fi
}

# Slurm's answer, or else what it said when the job began: squeue can be too busy.
slurm_time_left() {
  local left
  left=$(squeue --noheader --jobs "$SLURM_JOB_ID" --format %L) || left="squeue, status $?"
  if ! seconds_of "$left" >/dev/null 2>&1 && [[ ${SLURM_JOB_END_TIME:-} =~ ^[0-9]{1,12}$ ]]; then
    left=$((SLURM_JOB_END_TIME - $(date +%s)))
    ((left >= 0)) || left=0
  fi
  printf '%s\n' "$left"
}

# PBS says what the job asked for; nothing of it where there is no limit.
pbs_time_left() {
  local facts limit seconds
  facts=$(qstat -f "$PBS_JOBID") || return
  limit=$(sed -n 's/^ *Resource_List.walltime = //p' <<<"$facts")
  [[ -n $limit ]] || { echo unlimited; return; }
  if seconds=$(seconds_of "$limit" 2>/dev/null); then
    _less_what_is_gone "$seconds"
  else
    echo "$limit" # time_left says that it is no time
  fi
}

clock_of() { printf '%02d:%02d:%02d\n' $(($1 / 3600)) $(($1 % 3600 / 60)) $(($1 % 60)); }

# A path as the shell has it: a leading ~ that was quoted is the home folder all the same, and
# none begins with -, which programs take for an option.
path_of() {
  # shellcheck disable=SC2088  # what is looked for is the tilde itself
  case $1 in
    '~' | '~/'*) printf '%s\n' "${HOME:?HOME is not set, and a path begins with ~}${1#\~}" ;;
    -*) printf './%s\n' "$1" ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# The run's folder: runs/ and the deck's name, unless RUN says otherwise.
run_folder() {
  local name
  name=$(basename -- "$1")
  path_of "${RUN:-runs/${name%.toml}}"
}

# Usage: run_part SECONDS_LEFT LAUNCHER... -- DECK [table.key=value ...]
# SECONDS_LEFT: as seconds_of gives them; "unlimited": none.
# Goes on from the newest checkpoint, or starts. Exit status: 0 finished,
# 75 another job is needed, else the failure, after which none must follow.
run_part() {
  local left=$1 launcher=() limit=() deck folder log status=0
  shift
  while [[ $1 != -- ]]; do
    launcher+=("$1")
    shift
  done
  shift
  _limit_of "$left" || return
  deck=$(path_of "$1")
  folder=$(run_folder "$1") || return
  mkdir -p -- "$folder" || return 3
  log=$folder/job.log
  touch "$folder/.job-began"
  "${launcher[@]}" "${LEXIKOS:?}" -i "$deck" -d "$folder" -r latest \
    "${limit[@]}" "${@:2}" 2>&1 | tee -- "$log" &&
    status=${PIPESTATUS[0]} || status=${PIPESTATUS[0]}
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

# The caller's `limit`: -t and the time to stop after, nothing where there is none.
_limit_of() {
  case $1 in
    unlimited) limit=() ;;
    unknown) return 2 ;; # seconds_of has said so
    *[!0-9]* | '')
      echo "error: '$1' is no number of seconds" >&2
      return 2
      ;;
    *)
      if (($1 - MARGIN < 60)); then
        echo "error: the job's time is shorter than MARGIN ($MARGIN s) and a minute" >&2
        return 2
      fi
      limit=(-t "$(clock_of $(($1 - MARGIN)))")
      ;;
  esac
}
