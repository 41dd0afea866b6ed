/* From the input file to a module: parses, checks -D, elaborates; or reads IR text.
   Contract: see command.h; what is wrong has been reported and the exit code set. */
#include "ir/support/clock.h"
#include "lang/driver/command.h"
#include "lang/elab/elab.h"

#include <errno.h>

Program *front_parse(Front *f, int *code) {
  double start = clock_seconds();
  bool unreadable;
  Program *prog = parse_file(f->c, f->o->input, &unreadable);
  f->parse_seconds = clock_seconds() - start;
  *code = prog ? EXIT_DONE : unreadable ? EXIT_USAGE : EXIT_PROGRAM;
  return prog;
}

static bool has_hyper(const Program *prog, const char *name) {
  for (uint32_t i = 0; i < prog->decls.n; i++)
    if (prog->decls.at[i]->kind == DECL_HYPER && prog->decls.at[i]->name.name == name) return true;
  return false;
}

static bool wrong_define(const Define *d) {
  return !usage_error("-D %s takes a compile-time value, as in -D %s=128, not '%s'", d->name,
                      d->name, d->value);
}

/* Every -D must name a "let" of the program; their values in the order given. */
static bool parse_defines(Front *f, const Program *prog, DefineFlag *out) {
  const Options *o = f->o;
  const char **lets = ARENA_ARRAY(ctx_arena(f->c), const char *, prog->decls.n + 1);
  int n = 0;
  for (uint32_t i = 0; i < prog->decls.n; i++)
    if (prog->decls.at[i]->kind == DECL_LET) lets[n++] = prog->decls.at[i]->name.name;
  for (uint32_t i = 0; i < o->defines.n; i++) {
    const Define *d = &o->defines.at[i];
    const char *name = intern_n(f->c, d->name, strlen(d->name)); /* as this context spells it */
    bool known = false;
    for (int k = 0; k < n; k++) known |= lets[k] == name;
    if (!known) {
      const char *near = nearest_name(f->c, name, lets, n);
      if (has_hyper(prog, name))
        usage_error("-D %s: %s is a hyper, given when the program runs: --%s VALUE", d->name,
                    d->name, d->name);
      else
        usage_error("-D %s: %s has no 'let %s'%s%s%s", d->name, o->input, d->name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
      return false;
    }
    Expr *value = parse_value(f->c, intern_printf(f->c, "-D %s", d->name), d->value);
    if (!value) return wrong_define(d);
    out[i] = (DefineFlag){name, value};
  }
  return true;
}

static Module *module_from_program(Front *f, int *code) {
  const Program *prog = front_parse(f, code);
  if (!prog) return NULL;
  DefineFlag *defines = ARENA_ARRAY(ctx_arena(f->c), DefineFlag, f->o->defines.n + 1);
  if (!parse_defines(f, prog, defines)) {
    *code = EXIT_USAGE;
    return NULL;
  }
  double start = clock_seconds();
  const char *wrong = NULL;
  ElabOptions eo = {.defines = defines, .n = (int)f->o->defines.n, .wrong = &wrong};
  Module *m = elaborate(f->c, prog, &eo);
  f->elaborate_seconds = clock_seconds() - start;
  if (!m) *code = wrong ? EXIT_USAGE : EXIT_PROGRAM;
  for (int i = 0; !m && wrong && i < eo.n; i++)
    if (defines[i].name == wrong) wrong_define(&f->o->defines.at[i]);
  return m;
}

static Module *module_from_text(Front *f, int *code) {
  if (f->o->defines.n) {
    *code = usage_error("-D does not go with -x ir: constants are already numbers there");
    return NULL;
  }
  uint16_t file;
  if (!ctx_read_source(f->c, f->o->input, &file)) {
    *code = usage_error("cannot read %s: %s", f->o->input, strerror(errno));
    return NULL;
  }
  Module *m = module_read(f->c, file);
  if (!m) *code = EXIT_PROGRAM;
  return m;
}

Module *front_module(Front *f, int *code) {
  bool is_text = strcmp(option_value(f->o, OPT_LANGUAGE, "g"), "ir") == 0;
  Module *m = is_text ? module_from_text(f, code) : module_from_program(f, code);
  f->elaborated = m != NULL;
  if (m) module_identify(m);
  return m;
}
