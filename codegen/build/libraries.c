/* A program as a library: with what stands beside it, with a Python module, or as a wheel. */
#include "codegen/build/build.h"
#include "codegen/build/library.h"
#include "codegen/build/output.h"

/* A file of the folder of this run, written by `print`. */
static bool write_face(Build *b, const Library *l, const char *path,
                       void (*print)(const Library *l, FILE *f)) {
  FILE *f = fopen(path, "w");
  if (!f) return build_error(b, "cannot write", path);
  print(l, f);
  return build_close(b, f, path);
}

static Library library_of(Build *b, const CodegenPart *last) {
  return library_functions(b->a, last->m, b->o, codegen_lib_name(b->c, b->out), b->out);
}

static bool make_library(Build *b, const Library *l, CodegenPart *part, int n) {
  b->api = build_file(b, "api.c");
  return write_face(b, l, build_file(b, "model.h"), library_print_header) &&
         write_face(b, l, b->api, library_print_source) && build_make(b, part, n);
}

/* Behind what stands beside it. */
static bool place_library(Build *b) {
  return build_place(b, b->binary, b->out, true) &&
         (!b->o->save_temps || build_place(b, b->api, codegen_saved_api(b->c, b->out), false));
}

bool codegen_lib(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, out, code);
  if (!build_begin(&b)) return false;
  Library l = library_of(&b, &part[n - 1]);
  bool ok = make_library(&b, &l, part, n);
  for (int i = 0; i < CODEGEN_FACES && ok; i++) {
    const char *face = build_file(&b, intern_printf(b.c, "face%d", i));
    ok = write_face(&b, &l, face, library_faces[i].print) &&
         build_place(&b, face, codegen_face(b.c, out, i), false);
  }
  ok = ok && place_library(&b);
  build_end(&b);
  return ok;
}

bool codegen_python(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, codegen_module_library(part->m->ctx, out), code);
  if (!build_begin(&b)) return false;
  Library l = library_of(&b, &part[n - 1]);
  const char *module = build_file(&b, "model.py");
  bool ok = make_library(&b, &l, part, n) && write_face(&b, &l, module, python_print) &&
            build_place(&b, module, out, false) && place_library(&b);
  build_end(&b);
  return ok;
}

bool codegen_wheel(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Wheel w;
  Build b = build_of(part, o, NULL, code);
  if (!wheel_named(b.c, out, &w)) return false;
  if (!wheel_is_for(&w, o->processor)) {
    diag(b.c, SEV_ERROR, (Loc){0}, "'%s' is the name of a wheel for %s, but the code is for %s",
         out, w.platform, o->processor);
    diag(b.c, SEV_HINT, (Loc){0}, "name it %s-%s-py3-none-linux_%s.whl with -o", w.name, w.version,
         o->processor);
    *code = 2;
    return false;
  }
  if (!build_begin(&b)) return false;
  b.out = build_file(&b, intern_printf(b.c, "lib%s.so", w.name));
  Library l = library_of(&b, &part[n - 1]);
  const char *module = build_file(&b, "model.py"), *wheel = build_file(&b, "model.whl");
  bool ok = output_can_replace(out) || build_error(&b, "cannot write", out);
  ok = ok && make_library(&b, &l, part, n) && write_face(&b, &l, module, python_print);
  ok = ok &&
       (wheel_write(&l, &w, b.binary, module, wheel) || build_error(&b, "cannot write", wheel));
  ok = ok && build_place(&b, wheel, out, false);
  build_end(&b);
  return ok;
}
