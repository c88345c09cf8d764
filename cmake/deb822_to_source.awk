# Reads apt's deb822 notation (*.sources) and prints the stanzas of the suites
# that match `suite`, as source-package entries. Comments are dropped: one may
# stand in the middle of a stanza. A field goes on over lines that begin with
# a blank (an embedded key, a long list).
function finish(   i, n, words, wanted) {
  n = split(suites, words, /[ \t\n]+/)
  for (i = 1; i <= n; i++) if (words[i] ~ suite) wanted = 1
  if (wanted && binary && enabled) printf "Types: deb-src\n%s\n", body
  suites = body = ""
  binary = 0
  enabled = 1
}
BEGIN { enabled = 1 }
/^#/ { next }
/^[ \t]*$/ { finish(); next }
{
  if ($0 !~ /^[ \t]/) field = tolower(substr($0, 1, index($0, ":") - 1))
  value = $0
  sub(/^[^ \t:]*:/, "", value)
  if (field == "types") {
    if ((value " ") ~ /(^|[ \t])deb[ \t]/) binary = 1
    next
  }
  if (field == "suites") suites = suites " " value
  if (field == "enabled" && tolower(value) ~ /no|false|off|0/) enabled = 0
  body = body $0 "\n"
}
END { finish() }
