/* The picture on a page of its own that tells about the value under the mouse.
   Contract: the page needs nothing but itself, neither net nor fonts. */
#include "passes/report/drawing.h"

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
  svg_put_text(f, m->source);
  fputs("</title>\n<style>body{font:13px sans-serif;margin:12px}"
        "#box{position:fixed;right:12px;top:12px;background:#fff;border:1px solid #888;"
        "padding:8px;white-space:pre;min-width:220px}"
        "rect.on{stroke:#000;stroke-width:2}.key span{padding:1px 8px;margin-right:6px;color:#fff}"
        "</style></head><body>\n<h3>Memory of ",
        f);
  svg_put_text(f, m->source);
  fputs("</h3>\n<p class=\"key\"><span style=\"background:#4c78a8\">new bytes</span>"
        "<span style=\"background:#72b7b2\">in place</span>"
        "<span style=\"background:#f2a65a\">reused bytes</span>"
        "<span style=\"background:#999\">scratch</span> "
        "black line: bytes that live. x: step, y: address. "
        "The wheel stretches, a double click shows all, a click keeps the box.</p>\n",
        f);
  svg_put(f, m);
  fprintf(f, "<div id=\"box\"></div>\n<script>\n%s</script>\n</body></html>\n", script);
}
