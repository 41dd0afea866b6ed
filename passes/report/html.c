/* The picture on a page of its own: search by layer, what is alive at a step, and two plans beside
   each other. Contract: the page needs nothing but itself, neither net nor fonts. */
#include "passes/report/drawing.h"

extern const char report_text_page[], report_text_style[]; /* page.js and style.css */

static void put_drawing(FILE *f, const Entry *e, const char *which, uint64_t top) {
  Arena *a = arena_new();
  Drawing d = drawing_new(a, e);
  d.is_page = true;
  d.top = top;
  if (*which) d.title = arena_printf(a, "%s, %s", d.title, which);
  fputs("<div class=\"plan\">\n", f);
  svg_put_entry(f, &d);
  fputs("</div>\n", f);
  arena_free(a);
}

void plan_print_html(FILE *f, const Module *m, const Module *before) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory of ", f);
  svg_put_text(f, m->source);
  fprintf(f, "</title>\n<style>\n%s</style></head><body>\n<h1>Memory of ", report_text_style);
  svg_put_text(f, m->source);
  fputs("</h1>\n<p class=\"key\"><span class=\"new\">new bytes</span>"
        "<span class=\"inplace\">in place</span><span class=\"reuse\">reused bytes</span>"
        "<span class=\"scratch\">scratch</span> black line: bytes that live. x: step, y: address. "
        "A click keeps a value and lists what is alive at its step; the wheel stretches the steps, "
        "a double click shows all.</p>\n"
        "<div class=\"tools\"><input id=\"search\" type=\"search\" list=\"layers\" "
        "placeholder=\"layer, value, operation or type\"><datalist id=\"layers\"></datalist> "
        "<span id=\"found\"></span></div>\n",
        f);
  for (uint32_t k = 0; k < m->entries.n; k++) {
    const Entry *e = m->entries.at[k], *old = before ? before->entries.at[k] : NULL;
    uint64_t top = plan_of(e)->arena_bytes;
    if (old && plan_of(old)->arena_bytes > top) top = plan_of(old)->arena_bytes;
    if (old) put_drawing(f, old, "without the limit", top);
    put_drawing(f, e, old ? "within the limit" : "", top);
    if (e->ahead) put_drawing(f, e->ahead, "", plan_of(e->ahead)->arena_bytes);
  }
  fprintf(f, "<div id=\"box\"></div>\n<script>\n%s</script>\n</body></html>\n", report_text_page);
}
