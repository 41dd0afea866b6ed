# The public problems that packers are measured by:  packing.sh BENCH_PACK DATA
# Hard ones go into the capacity that their names end in, buffers of nets into the largest sum of live
# sizes, with several seeds of the search. What a seed may take is counted in steps, not in time.
# Others alike are made here: they go into the capacity that they were cut from.
set -u
pack=$1 data=$2 status=0
for seed in 3 6; do
  "$pack" --hard=130 --seed=$seed --capacity=1048576 --seeds=2 --work=200000000 --must || { status=1; echo "FAILED: hard instance $seed"; }
done
hard=$(ls "$data"/*.[0-9]*[0-9][0-9][0-9].csv 2>/dev/null)
nets=$(ls "$data"/nets/*.csv 2>/dev/null)
if [ -z "$hard" ] || [ -z "$nets" ]; then
  echo "NOT TESTED: $data holds no packing problems; set the CMake setting GC_SHARED_DATA to the folder with the test data"
  exit $((status ? 1 : 77))
fi
for file in $hard; do
  capacity=${file%.csv} capacity=${capacity##*.}
  "$pack" "$file" --capacity="$capacity" --seeds=4 --work=700000000 --must || { status=1; echo "FAILED: $file"; }
done
# shellcheck disable=SC2086 # a list of files
"$pack" $nets --seeds=3 --work=2000000000 --must || { status=1; echo "FAILED: a net is above its bound"; }
exit $status
