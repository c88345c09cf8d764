# What the scripts of this folder share: Debian's packages of other releases, taken by the machine's
# own source, and the words for what cannot be checked here. Sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/common.sh
source "$root/scripts/common.sh"

not_checked() {
  say "not checked: $*"
  exit 0
}

# Prints the address of the machine's own Debian source, or fails.
debian_source() {
  local uri
  command -v apt-get >/dev/null || return 1
  uri=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' \
    2>/dev/null | head -n 1)
  [[ -n $uri ]] && printf '%s\n' "$uri"
}

# Mounts each folder under $1 at the same path as outside, and /proc and /sys (hwloc reads them). In a mount namespace of the
# caller's own (unshare --mount), which ends with it. Usage: mount_under ROOT FOLDER...
mount_under() {
  local under=$1 folder
  shift
  for folder in "$@"; do
    mkdir -p "$under$folder"
    mount --bind "$folder" "$under$folder"
  done
  mount -t proc proc "$under/proc"
  mount --rbind --make-slave /sys "$under/sys"
}
