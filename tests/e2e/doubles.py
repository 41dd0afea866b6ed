"""IR of gc in which all that is f32 is f64, but hypers and random numbers, which are converted: standard input to output."""
import re
import sys

hypers, made = set(), 0
for line in sys.stdin:
    hyper = re.match(r"hyper @(\S+)", line)
    load = re.match(r"(\s*)(%\S+) = load @(\S+)(.*?) : f32\[\](.*)", line)
    drawn = re.match(r"(\s*)(%\S+) = (random_\w+.*?) : f32(\[.*?\])(.*)", line)
    if hyper:
        hypers.add(hyper[1])
        print(line, end="")
    elif load and load[3] in hypers:
        made += 1
        print(f"{load[1]}%f32_{made} = load @{load[3]}{load[4]} : f32[]{load[5]}")
        print(f"{load[1]}{load[2]} = convert %f32_{made} : f64[]")
    elif drawn:
        made += 1
        print(f"{drawn[1]}%f32_{made} = {drawn[3]} : f32{drawn[4]}{drawn[5]}")
        print(f"{drawn[1]}{drawn[2]} = convert %f32_{made} : f64{drawn[4]}")
    else:
        print(line.replace("f32", "f64"), end="")
