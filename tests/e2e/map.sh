#!/bin/sh
# The pictures of the memory plan: the drawing is sound XML, the trace sound JSON that Perfetto can nest, and
# the page runs in a browser, where the mouse points, turns its wheel, searches and clicks. So for a net without loops, one with
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
    exact = " ".join(t.firstChild.data for l in g.getElementsByTagName("line") for t in l.getElementsByTagName("title"))
    assert f"{e['naive_bytes']:,} bytes" in exact and f"{e['lower_bound_bytes']:,} bytes" in exact, exact
    texts = " ".join(t.firstChild.data for t in g.getElementsByTagName("text"))
    n = e["arena_bytes"]  # a unit that people read, and the bytes
    size = f"{n:,} bytes" if n < 10000 else f"{n / 1024:.1f} KB ({n:,} bytes)"
    assert f"entry {e['name']}: arena {size}" in texts and n < 1 << 20, texts
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
# opened NAME FILE.html SCRIPT: the page in a browser after this script, which writes into the page what it saw
opened() {
  { cat "$2"; printf '<script>\n{%s}\n</script>\n' "$3"; } >"$1.html"
  run 0 timeout 120 "$browser" --headless --no-sandbox --disable-gpu --window-size=1300,900 --user-data-dir="$scratch/profile" --dump-dom "file://$scratch/$1.html"
  cp out.txt "$1.txt"
}
# The mouse goes over the first value, the wheel turns, a layer is searched, a step and a row of the list are clicked.
opened over map.html "
const saw = {}, svg = document.querySelector('.plan svg'), first = svg.querySelector('rect.v');
const mouse = (kind, e, more) => e.dispatchEvent(new MouseEvent(kind, { bubbles: true, ...more }));
mouse('mousemove', first);
saw.said = document.getElementById('box').textContent;
const map = svg.querySelector('g.map'), before = map.getAttribute('transform');
svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, clientX: 300, bubbles: true, cancelable: true }));
saw.zoomed = before !== map.getAttribute('transform');
mouse('dblclick', svg);
saw.whole = before === map.getAttribute('transform');
const rows = () => [...document.querySelector('.alive').querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent));
const head = () => document.querySelector('.alive th').textContent;
saw.peak = head();
saw.alive = rows();
const box = svg.getBoundingClientRect();
mouse('click', first, { clientX: box.left + 112 });
saw.start = head();
saw.started = rows();
document.querySelector('.alive tbody tr').click();
saw.row = document.getElementById('box').textContent;
const search = document.getElementById('search');
search.value = 'net.fc1';
search.dispatchEvent(new Event('input'));
saw.found = document.getElementById('found').textContent;
saw.off = svg.querySelectorAll('rect.off').length;
saw.layers = [...document.querySelectorAll('#layers option')].map(o => o.value);
saw.fits = document.documentElement.scrollWidth <= window.innerWidth && svg.getBoundingClientRect().width > 1200;
document.body.dataset.saw = JSON.stringify(saw);"
cat >dom.py <<'END'
import html, json, re
dom = open("over.txt").read()
entries = json.load(open("map.json"))["entries"]
rects = open("map.svg").read().count('<rect class="v ')
assert f'data-values="{rects}"' in dom, "the page's script did not run"
saw = json.loads(html.unescape(re.search(r'data-saw="([^"]*)"', dom).group(1)))
held = [v for v in entries[0]["values"] if v["bytes"] and v["region"] == "ws"]
first = re.search(r'<title>(.*?)</title>', open("map.svg").read(), re.S).group(1)
op = next(v["op"] for v in held if v["id"] == first.split()[0])
assert op in saw["said"] and "bytes at 0x" in saw["said"] and "steps 0 to" in saw["said"] and "mnist.g:" in saw["said"], saw
assert saw["zoomed"] and saw["whole"] and saw["fits"], saw
peak = int(re.search(r"step (\d+), the peak", saw["peak"]).group(1))
for step, rows in (peak, saw["alive"]), (0, saw["started"]):  # what the list says is what the plan's JSON says
    alive = {v["id"] for v in held if v["first"] <= step <= v["last"]}
    assert rows and {r[0] for r in rows} <= alive, (step, rows, alive)
assert saw["start"].startswith("alive at step 0"), saw["start"]
assert saw["row"].startswith(saw["started"][0][0] + "  "), saw["row"]
layer = [v for v in held if "net.fc1" in v["scope"]]
assert f"entry train: {len(layer)} values, at most" in saw["found"] and saw["off"] == len(held) - len(layer), saw
assert "net.fc1" in saw["layers"] and "net.fc2" in saw["layers"], saw["layers"]
END
run 0 python3 dom.py

# With a limit the plan without it stands beside it, on one scale; a value is outlined in both.
cat >deep.g <<'END'
entry train(x : f32[64, 256]) {
  h = x
  for i in 0..12 { h = tanh(linear(h, 256) as l[i]) }
  loss = mean(h * h)
  minimize loss with sgd(0.1)
  return loss
}
END
run 0 "$gc" deep.g -O2 --memory-limit=60% --dump-plan=html
cp out.txt two.html
run 0 "$gc" deep.g -O2 --dump-plan=json && cp out.txt whole.json
run 0 "$gc" deep.g -O2 --memory-limit=60% --dump-plan=json && cp out.txt limited.json
opened both two.html "
const both = [...document.querySelectorAll('.plan svg.clip')], saw = {};
saw.titles = [...document.querySelectorAll('.plan text.title')].map(t => t.textContent);
saw.tops = [...document.querySelectorAll('.plan > svg')].map(s => [...s.querySelectorAll('text.y')].pop().textContent);
const same = [...both[0].querySelectorAll('rect.v')].find(a => [...both[1].querySelectorAll('rect.v')].some(b => a.dataset.name === b.dataset.name && a.dataset.layer === b.dataset.layer));
same.dispatchEvent(new MouseEvent('click', { bubbles: true }));
saw.on = both.map(s => s.querySelectorAll('rect.on').length);
document.body.dataset.saw = JSON.stringify(saw);"
cat >both.py <<'END'
import html, json, re
saw = json.loads(html.unescape(re.search(r'data-saw="([^"]*)"', open("both.txt").read()).group(1)))
for name, which, title in ("whole", "without", saw["titles"][0]), ("limited", "within", saw["titles"][1]):
    arena = json.load(open(name + ".json"))["entries"][0]["arena_bytes"]
    assert title.startswith(f"entry train, {which} the limit: arena ") and f"({arena:,} bytes)" in title, title
assert "more arithmetic" in saw["titles"][1] and "more arithmetic" not in saw["titles"][0], saw
assert saw["tops"][0] == saw["tops"][1] and saw["on"][0] == 1 and saw["on"][1] >= 1, saw
END
run 0 python3 both.py
finish
