# The least that a refused byte limit names is one: it is met when it is asked for, and 64 bytes less are not.
#   least.sh GC FILE.g ...
set -eu
gc=$1
shift
least() { # limit, file: the most that any entry's refusal names; nothing if the limit is met
  { "$gc" -march=x86-64-v3 --memory-limit="$1" --emit=plan -o /dev/null "$2" 2>&1 || true; } |
    sed -n 's/.*the minimum found is \([0-9,]*\) bytes.*/\1/p' | tr -d , | sort -n | tail -n 1
}
status=0
for file; do
  bytes=$(least 1 "$file")
  if [ -z "$bytes" ]; then echo "FAILED: $file: one byte is not refused"; status=1; continue; fi
  at=$(least "$bytes" "$file") below=$(least $((bytes - 64)) "$file")
  echo "${file##*/}: $bytes bytes; at it: ${at:-met}; 64 bytes below: ${below:-met}"
  [ -z "$at" ] && [ "$below" = "$bytes" ] || { echo "FAILED: $file"; status=1; }
done
exit $status
