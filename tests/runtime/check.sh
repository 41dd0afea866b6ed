# Checks of the scripts that run the hand-written program: they go on after a failure and count.
fails=0 checks=0
fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
same() { checks=$((checks + 1)); cmp -s "$1" "$2" || fail "$3: $1 and $2 differ"; }
same_log() { # but for the last column, the seconds
  sed 's/,[^,]*$//' "$1" >"$1.timeless" && sed 's/,[^,]*$//' "$2" >"$2.timeless"
  same "$1.timeless" "$2.timeless" "$3"
}
holds() { checks=$((checks + 1)); grep -qF -- "$2" "$1" || { fail "$3: no '$2' in:"; cat "$1"; }; }
