#!/bin/sh
# The pictures of the memory plan: the drawing is sound XML, the trace sound JSON that Perfetto can nest, and
# the page runs in a browser and tells about the value that the mouse is over. So for a net without loops, one with
# a loop inside a loop, and the same in two streams.
. "$(dirname "$0")/common.sh"
cp "$here/docs/examples/mnist.g" .
cat >loops.g <<'END'
entry train(x : f32[5, 8, 16], y : f32[8, 4]) {
  h = zeros([8, 16])
  side = relu(linear(x[0], 12) as side)
  scan t in 0..5 {
    h = tanh(linear(x[t], 16) as across + linear(h, 16) as along)
    scan k in 0..2 { h = h + 0.1 * tanh(linear(h, 16) as deep) }
  }
  d = linear(concat([h, side], axis = 1), 4) as last - y
  loss = mean(d * d)
  minimize loss with adamw(0.01)
  return loss
}
END
cat >check.py <<'END'
import json
import xml.dom.minidom
plan = json.load(open("map.json"))
entries = plan["entries"]
held = [[v for v in e["values"] if v["bytes"] and v["region"] == "ws"] for e in entries]
svg = xml.dom.minidom.parse("map.svg").documentElement
groups = [g for g in svg.getElementsByTagName("g") if g.getAttribute("class") == "entry"]
assert len(groups) == len(entries), len(groups)
for g, e, values in zip(groups, entries, held):
    rects = [r for r in g.getElementsByTagName("rect") if r.getAttribute("class").startswith("v ")]
    assert len(rects) == len(values), (e["name"], len(rects), len(values))
    titles = [r.getElementsByTagName("title")[0].firstChild.data for r in rects]
    for v in values:  # name, operation, place in the source, bytes and life of every value
        assert any(v["id"] in t and v["op"] in t and v["loc"] in t and f"{v['bytes']:,} bytes" in t
                   and f"steps {v['first']} to" in t for t in titles), v
    lines = {l.getAttribute("class") for l in g.getElementsByTagName("line")}
    assert lines == {"naive", "bound", "peak"}, lines
    texts = " ".join(t.firstChild.data for t in g.getElementsByTagName("text"))
    assert f"{e['naive_bytes']:,}" in texts and f"{e['lower_bound_bytes']:,}" in texts, texts
events = json.load(open("map.trace"))["traceEvents"]
for k, values in enumerate(held):
    mine = [e for e in events if e["pid"] == k]
    assert sum(e["ph"] == "X" for e in mine) == len(values)
    around = {}  # on one line an event ends before the next begins, or the next lies within it: a carry in its loop's result
    for e in sorted((e for e in mine if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
        ends = around.setdefault(e["tid"], [])
        while ends and ends[-1] <= e["ts"]:
            ends.pop()
        assert not ends or e["ts"] + e["dur"] <= ends[-1], e
        ends.append(e["ts"] + e["dur"])
    most = max(e["args"]["bytes"] for e in mine if e["ph"] == "C")
    assert abs(most - entries[k]["lower_bound_bytes"]) <= 64 * (len(values) + 1), (most, entries[k])
page = open("map.html").read()
assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
print("ok", len(events), "streams", entries[0]["streams"], "steps", entries[0]["steps"])
END
pictures() { # pictures FILE.g OPTIONS...: all of the plan of this program
  for form in svg html trace json; do
    run 0 "$gc" "$@" -O2 --dump-plan=$form
    cp out.txt "map.$form"
  done
  run 0 python3 check.py
}
pictures loops.g
holds map.json '"op": "scan'
pictures loops.g --streams=2
holds map.json '"streams": 2'
pictures mnist.g
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
  not_tested "the page of --dump-plan=html: there is no chromium (apt-get install chromium)"
  finish
fi
# the mouse goes over the first value, then the wheel turns: what the page shows is written into it
cat map.html - >over.html <<'END'
<script>
const first = document.querySelector('rect.v'), before = document.querySelector('svg').getAttribute('viewBox');
first.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
document.body.dataset.said = document.getElementById('box').textContent;
document.querySelector('svg').dispatchEvent(new WheelEvent('wheel', {deltaY: -1, clientX: 300, bubbles: true, cancelable: true}));
document.body.dataset.zoomed = before !== document.querySelector('svg').getAttribute('viewBox');
</script>
END
run 0 timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" --dump-dom "file://$scratch/over.html"
cp out.txt dom.txt
cat >dom.py <<'END'
import json, re
dom = open("dom.txt").read()
rects = open("map.svg").read().count('<rect class="v ')
assert f'data-values="{rects}"' in dom, "the page's script did not run"
said = re.search(r'data-said="([^"]*)"', dom).group(1)
first = re.search(r'<title>(.*?)</title>', open("map.svg").read(), re.S).group(1)
op = next(v["op"] for e in json.load(open("map.json"))["entries"] for v in e["values"] if v["id"] == first.split()[0])
assert op in said, (op, said)
assert "bytes at 0x" in said and "steps 0 to" in said and "mnist.g:" in said, said
assert 'data-zoomed="true"' in dom
END
run 0 python3 dom.py
finish
