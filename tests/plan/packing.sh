# The public problems that packers are measured by:  packing.sh BENCH_PACK DATA
# Hard ones go into the capacity that their names end in, buffers of nets into the largest sum of live
# sizes, with several seeds of the search. What a seed may take is counted in steps, not in time.
set -u
pack=$1 data=$2
hard=$(ls "$data"/*.[0-9]*[0-9][0-9][0-9].csv 2>/dev/null)
nets=$(ls "$data"/nets/*.csv 2>/dev/null)
if [ -z "$hard" ] || [ -z "$nets" ]; then
  echo "NOT TESTED: $data holds no packing problems; set the CMake setting GC_SHARED_DATA to the folder with the test data"
  exit 77
fi
status=0
for file in $hard; do
  capacity=${file%.csv} capacity=${capacity##*.}
  "$pack" "$file" --capacity="$capacity" --seeds=4 --must || { status=1; echo "FAILED: $file"; }
done
# shellcheck disable=SC2086 # a list of files
"$pack" $nets --seeds=3 --must || { status=1; echo "FAILED: a net is above its bound"; }
exit $status
