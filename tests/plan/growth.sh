#!/bin/sh
# Time and memory of gc itself grow as its programs do: a net of four times the layers takes four times as much, with
# room for noise in the time but not for quadratic work, which takes sixteen times.
#   growth.sh BUILD
set -u
rows=$(bash "$(dirname "$0")/../bench/scale.sh" "$1" 250 250 1000) || exit 1
echo "$rows"
echo "$rows" | awk '
  $1 == 250 && (!small || $4 < seconds) { seconds = $4 }
  $1 == 250 { small = $5 }
  $1 == 1000 { large = $5; slow = $4 }
  END {
    if (!small || !large || seconds <= 0) { print "FAILED: rows are missing"; exit 1 }
    printf "%.1f times the memory, %.1f times the time\n", large / small, slow / seconds
    if (large > 4.5 * small) { print "FAILED: memory"; exit 1 }
    if (large > 600) { print "FAILED: more than 14 KiB an operation"; exit 1 }
    if (slow > 10 * seconds) { print "FAILED: time"; exit 1 }
  }'
