/* The plan as a picture: x is the step, y the address, a rectangle a value with its life and bytes.
   --dump-plan=svg is the drawing, html the same on a page of its own that tells about what the
   mouse is over, trace the lives as events for Perfetto and Chrome's tracing.
   Contract: needs a plan with offsets; the page needs nothing but itself, neither net nor fonts. */
#include "passes/plan/plan_impl.h"

enum {
  WIDTH = 1000, /* of the map, in pixels */
  HEIGHT = 420,
  LEFT = 110, /* for addresses */
  TOP = 70,   /* for the title and the line of all values alone */
  LANES = 22, /* of it, for the streams */
  BOTTOM = 50,
  ENTRY_HEIGHT = TOP + HEIGHT + BOTTOM
};

typedef struct Rect {
  const char *name, *op, *from, *type, *how, *kind; /* kind: the class that gives the colour */
  const Place *place;
  int row; /* the storage that it lies in */
} Rect;

typedef struct Drawing {
  Arena *a;
  const Entry *e;
  const Plan *p;
  VEC(Rect) rects;
  uint64_t *live; /* by step: bytes of all storages that live */
  int peak;
} Drawing;

/* ---------------------------------------------------------------- what is drawn ---- */

static const char *how_of(const Drawing *d, const Place *x, const char **kind) {
  const char *of = x->of == NO_ID ? "" : value_str(d->e, x->of);
  *kind = x->how == HOW_INPLACE ? "inplace" : x->how == HOW_REUSE ? "reuse" : "new";
  if (x->how == HOW_INPLACE) return arena_printf(d->a, "in place of %s", of);
  if (x->how == HOW_REUSE) return *of ? arena_printf(d->a, "reuses %s", of) : "reuses scratch";
  return "new bytes";
}

static void add_rect(Drawing *d, const Op *op, const char *name, const char *type, const Place *x,
                     int row, bool scratch) {
  Ctx *c = d->e->module->ctx;
  const char *loc = op->loc.line ? loc_str(c, op->loc) : "", *kind;
  const char *how = how_of(d, x, &kind);
  bool scoped = op->scope && *op->scope;
  Rect r = {.name = name,
            .op = plan_op_name(op),
            .from = scoped ? arena_printf(d->a, "%s %s", op->scope, loc) : arena_strdup(d->a, loc),
            .type = type,
            .how = scratch ? "scratch of the kernel" : how,
            .kind = scratch ? "scratch" : kind,
            .place = x,
            .row = row};
  vec_push(d->a, &d->rects, r);
}

static void find_live(Drawing *d, const Storages *s) {
  const Plan *p = d->p;
  d->live = ARENA_ARRAY(d->a, uint64_t, p->nsteps + 2);
  for (int i = 0; i < s->b.n; i++) {
    const Buffer *b = &s->b.at[i];
    d->live[b->first] += b->bytes; /* unsigned differences wrap and come back */
    d->live[b->last + 1] -= b->bytes;
  }
  for (int t = 1; t < p->nsteps; t++) d->live[t] += d->live[t - 1];
  for (int t = 0; t < p->nsteps; t++)
    if (d->live[t] > d->live[d->peak]) d->peak = t;
}

static Drawing drawing_new(Arena *a, const Entry *e) {
  Drawing d = {.a = a, .e = e, .p = e->plan};
  Storages s = plan_storages(a, e, e->plan, 1, true);
  find_live(&d, &s);
  for (int t = 0; t < e->plan->nsteps; t++) {
    const Op *op = e->plan->steps[t];
    for (int k = 0; k < plan_nmade(op); k++) {
      ValueId v = plan_made(op, k);
      const Place *x = &e->plan->place[v];
      if (x->region == PLAN_ARENA && x->bytes && s.storage[v] >= 0)
        add_rect(&d, op, value_str(e, v), type_str(e->module->ctx, value_type(e, v)), x,
                 s.storage[v], false);
    }
    const Place *x = &e->plan->scratch[op->id];
    if (x->bytes) add_rect(&d, op, "scratch", "", x, s.scratch[op->id], true);
  }
  return d;
}

/* ---------------------------------------------------------------- svg ---- */

static void put_xml(FILE *f, const char *s) {
  for (; *s; s++) switch (*s) {
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '&': fputs("&amp;", f); break;
    case '"': fputs("&quot;", f); break;
    default: fputc(*s, f);
    }
}

static double x_of(const Drawing *d, int step) {
  return LEFT + (double)WIDTH * step / (d->p->nsteps > 0 ? d->p->nsteps : 1);
}

static double y_of(const Drawing *d, uint64_t bytes) {
  double arena = d->p->arena_bytes ? (double)d->p->arena_bytes : 1;
  return TOP + HEIGHT * (1 - (double)bytes / arena);
}

static int end_of(const Drawing *d, const Rect *r) {
  return r->place->last >= d->p->nsteps ? d->p->nsteps : r->place->last + 1;
}

static void put_rect(FILE *f, const Drawing *d, const Rect *r) {
  const Place *x = r->place;
  char bytes[32];
  double top = y_of(d, x->offset + x->bytes);
  fprintf(f, "<rect class=\"v %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", r->kind,
          x_of(d, x->first), top, x_of(d, end_of(d, r)) - x_of(d, x->first),
          y_of(d, x->offset) - top);
  fputs("><title>", f);
  put_xml(f, r->name);
  fprintf(f, "  %s", r->op);
  if (*r->from) fputc('\n', f);
  put_xml(f, r->from);
  fprintf(f, "\n%s%s%s bytes at 0x%llx\n", r->type, *r->type ? ", " : "",
          plan_commas(bytes, x->bytes), (unsigned long long)x->offset);
  if (x->last >= d->p->nsteps)
    fprintf(f, "steps %d to the end\n", x->first);
  else
    fprintf(f, "steps %d to %d\n", x->first, x->last);
  if (d->p->streams > 1) fprintf(f, "stream %d\n", x->stream);
  put_xml(f, r->how);
  fputs("</title></rect>\n", f);
}

static void put_line(FILE *f, const char *kind, double y, const char *text, uint64_t bytes) {
  char n[32];
  fprintf(f, "<line class=\"%s\" x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\"/>\n", kind, LEFT, y,
          LEFT + WIDTH, y);
  fprintf(f, "<text class=\"%s\" x=\"%d\" y=\"%.2f\">%s %s</text>\n", kind,
          *kind == 'n' ? LEFT + 4 : LEFT + WIDTH - 4, y - 3, text, plan_commas(n, bytes));
}

/* Above the map: which stream each step runs in, the first one highest. */
static void put_streams(FILE *f, const Drawing *d) {
  const Plan *p = d->p;
  double high = (double)LANES / p->streams;
  for (int t = 0; t < p->nsteps; t++) {
    fprintf(f, "<rect class=\"lane\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
            x_of(d, t), TOP - LANES - 2 + high * p->stream[t], x_of(d, t + 1) - x_of(d, t), high);
    fprintf(f, "<title>step %d, %s, stream %d</title></rect>\n", t, plan_op_name(p->steps[t]),
            p->stream[t]);
  }
}

static void put_live(FILE *f, const Drawing *d) {
  fputs("<path class=\"live\" d=\"", f);
  for (int t = 0; t < d->p->nsteps; t++)
    fprintf(f, "%c%.2f %.2fH%.2f", t ? 'L' : 'M', x_of(d, t), y_of(d, d->live[t]), x_of(d, t + 1));
  fputs("\"/>\n", f);
}

static void put_axes(FILE *f, const Drawing *d) {
  const Plan *p = d->p;
  char n[32];
  for (int k = 0; k <= 4; k++) {
    uint64_t at = p->arena_bytes / 4 * (uint64_t)k;
    fprintf(f, "<text class=\"y\" x=\"%d\" y=\"%.2f\">%s</text>\n", LEFT - 6, y_of(d, at) + 4,
            plan_commas(n, at));
  }
  int every = (p->nsteps + 19) / 20 > 0 ? (p->nsteps + 19) / 20 : 1;
  for (int t = 0; t < p->nsteps; t += every)
    fprintf(f, "<text class=\"x\" x=\"%.2f\" y=\"%d\">%d</text>\n", x_of(d, t), TOP + HEIGHT + 16,
            t);
  if (p->nsteps)
    fprintf(f,
            "<line class=\"peak\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>\n"
            "<text class=\"peak\" x=\"%.2f\" y=\"%d\">peak: step %d, %s</text>\n",
            x_of(d, d->peak), TOP, x_of(d, d->peak), TOP + HEIGHT, x_of(d, d->peak),
            TOP + HEIGHT + 34, d->peak, plan_op_name(p->steps[d->peak]));
}

static void put_entry(FILE *f, const Drawing *d, int at) {
  const Plan *p = d->p;
  char n[32];
  fprintf(f, "<g class=\"entry\" transform=\"translate(0 %d)\">\n", at);
  fprintf(f, "<text class=\"title\" x=\"%d\" y=\"18\">entry ", LEFT);
  put_xml(f, d->e->name);
  fprintf(f, ": arena %s bytes%s, %d steps, memory %s", plan_commas(n, p->arena_bytes),
          p->optimal ? ", optimal" : "", p->nsteps, p->strategy ? p->strategy : "?");
  if (p->streams > 1) fprintf(f, ", %d streams, %.2f at work", p->streams, p->at_work);
  fputs("</text>\n", f);
  fprintf(f, "<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
          WIDTH, HEIGHT);
  for (uint32_t i = 0; i < d->rects.n; i++) put_rect(f, d, &d->rects.at[i]);
  if (p->nsteps) put_live(f, d);
  if (p->streams > 1) put_streams(f, d);
  /* what lies above the picture is drawn at its upper edge, and says how far above it is */
  bool above = p->naive_bytes > p->arena_bytes + p->arena_bytes / 12;
  const char *text = "every value alone:";
  if (above)
    text = arena_printf(d->a, "every value alone, %.1f times as high:",
                        (double)p->naive_bytes / (double)(p->arena_bytes ? p->arena_bytes : 1));
  put_line(f, "naive", above ? TOP - 28 : y_of(d, p->naive_bytes), text, p->naive_bytes);
  put_line(f, "bound", y_of(d, p->lower_bound_bytes), "lower bound:", p->lower_bound_bytes);
  put_axes(f, d);
  fputs("</g>\n", f);
}

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px}.y{text-anchor:end}"
    ".x{fill:#666}.ground{fill:#f4f4f4;stroke:#bbb}"
    ".v{stroke:#fff;stroke-width:.5}.new{fill:#4c78a8}.inplace{fill:#72b7b2}"
    ".reuse{fill:#f2a65a}.scratch{fill:#999}.lane{fill:#555}.live{fill:none;stroke:#222;stroke-"
    "width:1.2}"
    "line.naive{stroke:#b22;stroke-dasharray:6 4}text.naive{fill:#b22}"
    "line.bound{stroke:#171;stroke-dasharray:3 3}text.bound{fill:#171;text-anchor:end}"
    "line.peak{stroke:#b22}text.peak{fill:#b22}";

static void put_svg(FILE *f, const Module *m) {
  int entries = (int)m->entries.n, wide = LEFT + WIDTH + 20;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\">\n<style>%s</style>\n",
          wide, entries * ENTRY_HEIGHT, wide, entries * ENTRY_HEIGHT, style);
  for (int k = 0; k < entries; k++) {
    Arena *a = arena_new();
    Drawing d = drawing_new(a, m->entries.at[k]);
    put_entry(f, &d, k * ENTRY_HEIGHT);
    arena_free(a);
  }
  fputs("</svg>\n", f);
}

void plan_print_svg(FILE *f, const Module *m) { put_svg(f, m); }

/* ---------------------------------------------------------------- html ---- */

/* The box says what a rectangle's title says; the wheel stretches the steps around the mouse, a
   double click shows all again, a click keeps the box. */
static const char script[] =
    "const box=document.getElementById('box'),svg=document.querySelector('svg');\n"
    "let kept=null,on=null;\n"
    "for(const r of svg.querySelectorAll('rect.v')){\n"
    "  r.dataset.text=r.querySelector('title').textContent;r.querySelector('title').remove();\n"
    "}\n"
    "function show(r){\n"
    "  if(on)on.classList.remove('on');\n"
    "  on=r;if(r){r.classList.add('on');box.textContent=r.dataset.text;}\n"
    "  else box.textContent='Point at a value.';\n"
    "}\n"
    "svg.addEventListener('mouseover',e=>{if(!kept)show(e.target.closest('rect.v'));});\n"
    "svg.addEventListener('click',e=>{kept=e.target.closest('rect.v');show(kept);});\n"
    "const full=svg.viewBox.baseVal.width,tall=svg.viewBox.baseVal.height;\n"
    "svg.setAttribute('preserveAspectRatio','none');\n"
    "svg.addEventListener('wheel',e=>{\n"
    "  e.preventDefault();const b=svg.viewBox.baseVal,q=svg.getBoundingClientRect();\n"
    "  const at=b.x+b.width*(e.clientX-q.left)/q.width,z=e.deltaY<0?.8:1.25;\n"
    "  const w=Math.min(full,Math.max(full/200,b.width*z));\n"
    "  const x=Math.min(full-w,Math.max(0,at-(at-b.x)*w/b.width));\n"
    "  svg.setAttribute('viewBox',`${x} 0 ${w} ${tall}`);\n"
    "},{passive:false});\n"
    "svg.addEventListener('dblclick',()=>svg.setAttribute('viewBox',`0 0 ${full} ${tall}`));\n"
    "show(null);\n"
    "document.body.dataset.values=svg.querySelectorAll('rect.v').length;\n";

void plan_print_html(FILE *f, const Module *m) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory of ", f);
  put_xml(f, m->source);
  fputs("</title>\n<style>body{font:13px sans-serif;margin:12px}"
        "#box{position:fixed;right:12px;top:12px;background:#fff;border:1px solid #888;"
        "padding:8px;white-space:pre;min-width:220px}"
        "rect.on{stroke:#000;stroke-width:2}.key span{padding:1px 8px;margin-right:6px;color:#fff}"
        "</style></head><body>\n<h3>Memory of ",
        f);
  put_xml(f, m->source);
  fputs("</h3>\n<p class=\"key\"><span style=\"background:#4c78a8\">new bytes</span>"
        "<span style=\"background:#72b7b2\">in place</span>"
        "<span style=\"background:#f2a65a\">bytes of the dead</span>"
        "<span style=\"background:#999\">scratch</span> "
        "black line: bytes that live. x: step, y: address. "
        "The wheel stretches, a double click shows all, a click keeps the box.</p>\n",
        f);
  put_svg(f, m);
  fprintf(f, "<div id=\"box\"></div>\n<script>\n%s</script>\n</body></html>\n", script);
}

/* ---------------------------------------------------------------- trace ---- */

/* A process an entry, a thread a storage; half a step is one microsecond, so that a value in place
   begins when the one before it ends. */
static void put_event(FILE *f, const Rect *r, uint32_t entry, int nsteps) {
  const Place *x = r->place;
  int last = x->last >= nsteps ? nsteps : x->last;
  int from = 2 * x->first + 1, to = 2 * last + 1 > from ? 2 * last + 1 : from + 1;
  fputs(",\n{\"name\": ", f);
  plan_put_string(f, r->name);
  fputs(", \"cat\": ", f);
  plan_put_string(f, r->kind);
  fprintf(f, ", \"ph\": \"X\", \"ts\": %d, \"dur\": %d, \"pid\": %u, \"tid\": %d", from, to - from,
          entry, r->row);
  fputs(", \"args\": {\"op\": ", f);
  plan_put_string(f, r->op);
  fputs(", \"from\": ", f);
  plan_put_string(f, r->from);
  fputs(", \"type\": ", f);
  plan_put_string(f, r->type);
  fputs(", \"how\": ", f);
  plan_put_string(f, r->how);
  fprintf(f, ", \"bytes\": %llu, \"offset\": %llu, \"first\": %d, \"last\": %d, \"stream\": %d}}",
          (unsigned long long)x->bytes, (unsigned long long)x->offset, x->first, x->last,
          x->stream);
}

/* The steps of each stream as a thread of a process of their own, behind those of the entries, and
   the edges between them. */
static void put_steps(FILE *f, const Plan *p, const char *name, uint32_t pid) {
  fprintf(f,
          ",\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, \"args\": {\"name\": ", pid);
  plan_put_string(f, name);
  fputs("}}", f);
  for (int t = 0; t < p->nsteps; t++) {
    fputs(",\n{\"name\": ", f);
    plan_put_string(f, plan_op_name(p->steps[t]));
    fprintf(f,
            ", \"cat\": \"step\", \"ph\": \"X\", \"ts\": %d, \"dur\": 2, \"pid\": %u, \"tid\": %d}",
            2 * t, pid, p->stream[t]);
  }
  for (int i = 0; i < p->nedges; i++)
    for (int end = 0; end < 2; end++) {
      int t = end ? p->edges[i].to : p->edges[i].from;
      fprintf(f,
              ",\n{\"name\": \"edge\", \"cat\": \"edge\", \"ph\": \"%s\", \"bp\": \"e\", \"id\": "
              "%d, \"ts\": %d, \"pid\": %u, \"tid\": %d}",
              end ? "f" : "s", i, 2 * t + 1 - end, pid, p->stream[t]);
    }
}

void plan_print_trace(FILE *f, const Module *m) {
  fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", f);
  for (uint32_t k = 0; k < m->entries.n; k++) {
    Arena *a = arena_new();
    Drawing d = drawing_new(a, m->entries.at[k]);
    fprintf(f, "%s{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, \"args\": {\"name\": ",
            k ? ",\n" : "", k);
    plan_put_string(f, d.e->name);
    fputs("}}", f);
    for (uint32_t i = 0; i < d.rects.n; i++) put_event(f, &d.rects.at[i], k, d.p->nsteps);
    for (int t = 0; t < d.p->nsteps; t++)
      fprintf(f,
              ",\n{\"name\": \"live bytes\", \"ph\": \"C\", \"ts\": %d, \"pid\": %u, "
              "\"args\": {\"bytes\": %llu}}",
              2 * t + 1, k, (unsigned long long)d.live[t]);
    if (d.p->streams > 1)
      put_steps(f, d.p, arena_printf(a, "%s: streams", d.e->name), m->entries.n + k);
    arena_free(a);
  }
  fputs("\n]}\n", f);
}
