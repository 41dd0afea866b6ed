// The page of a plan. Each drawing is an svg whose rectangles carry what they show: data-name, -op, -layer, -type,
// -bytes, -at, -first, -last and -storage; values in one storage share its bytes. Its group "map" is 1000 units wide.
const LEFT = 110, WIDTH = 1000, RIGHT = 20;
const box = document.getElementById('box'), search = document.getElementById('search'), found = document.getElementById('found');
const SVG = 'http://www.w3.org/2000/svg';
let on = null, kept = false;

function size(n) {
  if (n < 10000) return n.toLocaleString('en') + ' bytes';
  const digits = d => ({ minimumFractionDigits: d, maximumFractionDigits: d }), mb = n / 1048576;
  return mb < 1 ? (n / 1024).toFixed(1) + ' KB' : mb.toLocaleString('en', digits(mb < 10 ? 2 : 1)) + ' MB';
}
function element(name, attributes, text) {
  const e = document.createElementNS(SVG, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}

class Drawing {
  constructor(svg) {
    this.svg = svg;
    this.entry = svg.querySelector('g.entry');
    this.steps = +this.entry.dataset.steps;
    this.values = [...svg.querySelectorAll('rect.v')].map(r => {
      const title = r.querySelector('title'), d = r.dataset;
      const v = { rect: r, text: title.textContent, name: d.name, op: d.op, layer: d.layer, type: d.type, bytes: +d.bytes,
        at: +d.at, first: +d.first, last: +d.last, storage: d.storage, drawing: this };
      title.remove();
      r.value = v;
      return v;
    });
    this.from = 0;
    this.to = 1;
    this.map = svg.querySelector('g.map');
    this.clip = svg.querySelector('svg.clip');
    this.marker = element('line', { class: 'step', y1: this.clip.dataset.top, y2: this.clip.dataset.bottom });
    this.map.append(this.marker);
    this.alive = document.createElement('div');
    this.alive.className = 'alive';
    svg.parentNode.after(this.alive);
    svg.addEventListener('mousemove', e => { if (!kept) show(e.target.value || null); });
    svg.addEventListener('click', e => this.click(e));
    svg.addEventListener('wheel', e => this.zoom(e), { passive: false });
    svg.addEventListener('dblclick', () => { this.from = 0; this.to = 1; this.layout(); });
    this.layout();
    this.list(+this.entry.dataset.peak);
  }
  width() { return Math.max(400, this.svg.clientWidth || LEFT + WIDTH + RIGHT); }
  scale() { return (this.width() - LEFT - RIGHT) / WIDTH / (this.to - this.from); }
  screen(step) { return LEFT + (step / this.steps - this.from) * WIDTH * this.scale(); }
  layout() {
    const w = this.width(), s = this.scale();
    this.svg.setAttribute('viewBox', `0 0 ${w} ${this.entry.dataset.height}`);
    this.svg.setAttribute('height', this.entry.dataset.height);
    this.clip.setAttribute('width', w - LEFT - RIGHT);
    this.map.setAttribute('transform', `translate(${-this.from * WIDTH * s} 0) scale(${s} 1)`);
    for (const t of this.svg.querySelectorAll('text.bound')) t.setAttribute('x', w - RIGHT - 4);
    for (const t of this.svg.querySelectorAll('text.peak')) {
      t.setAttribute('x', this.screen(+this.entry.dataset.peak));
      t.setAttribute('visibility', this.screen(+this.entry.dataset.peak) < LEFT ? 'hidden' : 'visible');
    }
    for (const t of this.svg.querySelectorAll('text.x')) t.remove();
    const shown = this.steps * (this.to - this.from), most = Math.max(2, Math.floor((w - LEFT) / 60));
    let every = 1;
    for (const k of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000]) { every = k; if (shown / k <= most) break; }
    for (let t = Math.ceil(this.from * this.steps / every) * every; t < this.to * this.steps; t += every)
      this.entry.append(element('text', { class: 'x', x: this.screen(t), y: +this.clip.dataset.bottom + 16 }, t));
  }
  fraction(e) { return (e.clientX - this.svg.getBoundingClientRect().left - LEFT) / (this.width() - LEFT - RIGHT); }
  zoom(e) {
    e.preventDefault();
    const span = this.to - this.from, f = Math.min(1, Math.max(0, this.fraction(e)));
    const wide = Math.min(1, Math.max(Math.min(1, 4 / this.steps), span * (e.deltaY < 0 ? 0.8 : e.deltaY > 0 ? 1.25 : 1)));
    const move = span * e.deltaX / 1000;
    this.from = Math.min(1 - wide, Math.max(0, this.from + f * (span - wide) + move));
    this.to = this.from + wide;
    this.layout();
  }
  click(e) {
    const v = e.target.value || null;
    kept = v !== null;
    show(v);
    const f = this.from + this.fraction(e) * (this.to - this.from);
    if (f >= 0 && f < 1) this.list(Math.floor(f * this.steps));
  }
  // The storages that are alive at a step, largest first; a storage is named after its latest value.
  list(step) {
    const storages = new Map();
    for (const v of this.values) {
      if (v.first > step || v.last < step) continue;
      const s = storages.get(v.storage);
      storages.set(v.storage, { value: s && s.value.first >= v.first ? s.value : v, bytes: Math.max(v.bytes, s ? s.bytes : 0) });
    }
    const rows = [...storages.values()].sort((a, b) => b.bytes - a.bytes), total = rows.reduce((n, r) => n + r.bytes, 0);
    const x = step / this.steps * WIDTH + WIDTH / this.steps / 2;
    this.marker.setAttribute('x1', x);
    this.marker.setAttribute('x2', x);
    this.step = step;
    const table = document.createElement('table'), head = table.createTHead().insertRow();
    const peak = step === +this.entry.dataset.peak ? ', the peak' : '';
    for (const [text, kind] of [[`alive at step ${step}${peak}: ${rows.length} values`, ''], ['layer', ''], ['operation', ''], ['type', ''],
      [size(total), 'n'], ['share', 'n'], ['steps', 'n']]) {
      const th = document.createElement('th');
      th.textContent = text;
      th.className = kind;
      head.append(th);
    }
    const body = table.createTBody();
    for (const r of rows) {
      const v = r.value, tr = body.insertRow();
      tr.value = v;
      for (const [text, kind] of [[v.name, ''], [v.layer, ''], [v.op, ''], [v.type, ''], [size(r.bytes), 'n'],
        [(100 * r.bytes / total).toFixed(1) + ' %', 'n'], [`${v.first} to ${v.last}`, 'n']]) {
        const td = tr.insertCell();
        td.textContent = text;
        td.className = kind;
      }
      tr.addEventListener('mouseover', () => { if (!kept) show(v); });
      tr.addEventListener('click', () => { kept = on !== v || !kept; show(v); });
    }
    this.alive.replaceChildren(table);
  }
}

// A value, and those of its name and layer in the drawing beside it, are outlined.
function show(v) {
  if (on) for (const e of document.querySelectorAll('.on')) e.classList.remove('on');
  on = v;
  box.textContent = v ? v.text : 'Point at a value.';
  if (!v) return;
  for (const d of drawings) {
    if (d.entry.dataset.entry !== v.drawing.entry.dataset.entry) continue;
    for (const w of d.values)
      if (w === v || (d !== v.drawing && w.name === v.name && w.layer === v.layer)) w.rect.classList.add('on');
    for (const tr of d.alive.querySelectorAll('tbody tr')) if (tr.value === v) tr.classList.add('on');
  }
}

// Values whose name, layer, operation or type contains the words stay bright; how much of them is alive at once.
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(w => w);
  const said = [];
  for (const d of drawings) {
    const live = new Map();
    let n = 0;
    for (const v of d.values) {
      const text = `${v.name} ${v.layer} ${v.op} ${v.type}`.toLowerCase(), fits = words.every(w => text.includes(w));
      v.rect.classList.toggle('off', !fits);
      if (!fits) continue;
      n++;
      const s = live.get(v.storage) || { first: v.first, last: v.last, bytes: 0 };
      live.set(v.storage, { first: Math.min(s.first, v.first), last: Math.max(s.last, v.last), bytes: Math.max(s.bytes, v.bytes) });
    }
    const change = new Float64Array(d.steps + 2);
    for (const s of live.values()) { change[s.first] += s.bytes; change[Math.min(s.last, d.steps) + 1] -= s.bytes; }
    let now = 0, most = 0, at = 0;
    change.forEach((c, t) => { now += c; if (now > most) { most = now; at = t; } });
    if (words.length) said.push(`${d.entry.dataset.title}: ${n} values, at most ${size(most)} at once, at step ${at}`);
  }
  found.textContent = said.join('; ');
}

const drawings = [...document.querySelectorAll('.plan > svg')].map(svg => new Drawing(svg));
const layers = new Set();
for (const d of drawings) for (const v of d.values) if (v.layer) layers.add(v.layer);
const list = document.getElementById('layers');
for (const l of [...layers].sort()) { const o = document.createElement('option'); o.value = l; list.append(o); }
search.addEventListener('input', filter);
window.addEventListener('resize', () => drawings.forEach(d => d.layout()));
show(null);
document.body.dataset.values = drawings.reduce((n, d) => n + d.values.length, 0);
