/* Broken plans of each kind that the checker has once accepted, planted in plans that are right,
   and what it proves for code generation. Contract: a fault is rejected for what is wrong about it.
 */
#include "tests/unit/plan_rig.h"

static const Target with_slack = {.name = "test", .align = 64, .slack = 64};
static const Target in_order = {.name = "test", .align = 64, .slack = 64, .moves_in_place = true};

static Ctx *read_plan_for(const Target *t, const char *text, const char *memory, Module **out) {
  Ctx *c = ctx_new();
  uint16_t file = ctx_add_source(c, "test.ir", text, strlen(text));
  Module *m = *out = module_read(c, file);
  assert_non_null(m);
  const PassOptions opt = {.target = t, .memory = memory, .plan_seconds = 1};
  assert_true(passes_run(m, "autodiff,order,liveness,inplace,streams,share", &opt));
  return c;
}

static Ctx *read_plan(const char *text, const char *memory, Module **out) {
  return read_plan_for(&with_slack, text, memory, out);
}

static const Op *only(const Entry *e, OpKind kind) {
  const Op *found = NULL;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    if (op_at(e, i)->kind != kind) continue;
    assert_null(found);
    found = op_at(e, i);
  }
  assert_non_null(found);
  return found;
}

static Place *place_of(const Entry *e, OpKind kind) {
  return &plan_of(e)->place[only(e, kind)->results[0]];
}

static void accept(const Entry *e) { assert_true(plan_verify(e, &with_slack, stderr)); }

static void reject_for(const Target *t, const Entry *e, const char *words) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  bool ok = plan_verify(e, t, f);
  fclose(f);
  if (ok) fail_msg("accepted, where '%s' is wrong", words);
  text[strcspn(text, "\n")] = 0;
  if (!strstr(text, words)) fail_msg("expected '%s', got: %s", words, text);
  free(text);
}

static void reject(const Entry *e, const char *words) { reject_for(&with_slack, e, words); }

static void done(Ctx *c, Module *m) {
  module_free(m);
  ctx_free(c);
}

/* ---- globals ---- */

/* @a is stored, @b is for other entries; %v is four times as large as @a. */
static const char globals[] = "module \"t.g\"\n"
                              "state @a : f32[16]\n"
                              "state @b : f32[256]\n"
                              "entry go(%x : f32[64]) {\n"
                              "  %v = neg %x : f32[64]\n"
                              "  %s = slice %v {starts = [3], steps = [4]} : f32[16]\n"
                              "  store @a, %s\n"
                              "  %t = abs %x : f32[64]\n"
                              "  return %t {names = \"t\"}\n"
                              "}\n";

static void globals_of_others(void **state) {
  (void)state;
  Module *m;
  Ctx *c = read_plan(globals, "pack", &m);
  Entry *e = m->entries.at[0];
  const GlobalsPlan g = plan_globals(m, with_slack.align);
  accept(e);
  plan_of(e)->arena_bytes = 4096;
  rig_move(place_of(e, OP_SLICE), &(Place){.region = PLAN_ARENA, .offset = 512}, 0);
  place_of(e, OP_SLICE)->global = -1;
  accept(e);
  Place *v = place_of(e, OP_NEG), good = *v;
  v->region = PLAN_GLOBALS; /* where @a begins, and over the first bytes of @b */
  v->global = 0;
  v->offset = g.offset[0];
  v->how = HOW_EXTERNAL;
  v->of = NO_ID;
  reject(e, "%v has more bytes than @a, in which it lies");
  v->global = 1; /* all of it in @b, which the entry does not store */
  v->offset = g.offset[1];
  reject(e, "nobody stores");
  *v = good;
  accept(e);
  done(c, m);
}

/* ---- slack ---- */

static void slack_of_the_arena(void **state) {
  (void)state;
  Module *m;
  Ctx *c = read_plan(globals, "pack", &m);
  Entry *e = m->entries.at[0];
  accept(e);
  plan_of(e)->arena_bytes -= 64;
  reject(e, "ends beyond the arena");
  done(c, m);
}

/* ---- strides ---- */

static const char loop[] = "module \"t.g\"\n"
                           "entry go(%x : f32[4,64], %u : f32[64,64]) {\n"
                           "  %keep = neg %x : f32[4,64]\n"
                           "  %2 = const : f32[64]\n"
                           "  %h = scan %2, %x {trips = 4, carries = 1} : f32[64] (%i : i32[], "
                           "%h.1 : f32[64], %6 : f32[64]) {\n"
                           "    %7 = add %h.1, %6 : f32[64]\n"
                           "    %t = tanh %7 : f32[64]\n"
                           "    %10 = reshape %t : f32[1,64]\n"
                           "    %11 = matmul %10, %u : f32[1,64]\n"
                           "    %12 = reshape %11 : f32[64]\n"
                           "    %13 = abs %t : f32[64]\n"
                           "    %h.2 = add %12, %13 : f32[64]\n"
                           "    yield %h.2\n"
                           "  }\n"
                           "  return %h, %keep {names = \"h,keep\"}\n"
                           "}\n";

static void strides(void **state) {
  (void)state;
  Module *m;
  Ctx *c = read_plan(loop, "none", &m);
  Entry *e = m->entries.at[0];
  accept(e);
  plan_of(e)->arena_bytes += 4096;
  accept(e);
  int64_t by[1];
  Place *x = place_of(e, OP_ABS), *outside = place_of(e, OP_NEG);
  assert_int_equal(plan_of(e)->depth, 1);
  x->stride = by;
  by[0] = 0;
  accept(e);
  by[0] = -64;
  reject(e, "moves to where it has no bytes");
  by[0] = INT64_MAX - 63; /* three times this is more than 2^64 */
  reject(e, "moves to where it has no bytes");
  by[0] = 32;
  reject(e, "moves by 32 bytes, which are not aligned to 64");
  x->stride = NULL;
  by[0] = 64; /* by iterations of a loop that is not around the value */
  outside->stride = by;
  reject(e, "moves to where it has no bytes");
  outside->stride = NULL;
  accept(e);
  done(c, m);
}

/* ---- rows of a bounded axis that move ---- */

/* %r has its rows side by side, %v and %g have gaps at different places. */
static const char rows[] = "module \"t.g\"\n"
                           "entry go(%x : f32[6,n<=40,16]) {\n"
                           "  %v = neg %x : f32[6,n<=40,16]\n"
                           "  %r = reshape %v : f32[TYPE,16]\n"
                           "  %y = abs %r : f32[TYPE,16]\n"
                           "  return %y {names = \"y\"}\n"
                           "}\n";

static void rows_in_place(void **state) {
  (void)state;
  const char *type[] = {"6*(n<=40)", "3,2*(n<=40)"};
  for (int gaps = 0; gaps < 2; gaps++) {
    Module *m;
    Ctx *c = ctx_new();
    char *text = arena_printf(ctx_arena(c), "%s", rows);
    for (char *at; (at = strstr(text, "TYPE"));)
      text = arena_printf(ctx_arena(c), "%.*s%s%s", (int)(at - text), text, type[gaps], at + 4);
    Ctx *own = read_plan_for(&in_order, text, "pack", &m);
    const Entry *e = m->entries.at[0];
    Place *x = place_of(e, OP_NEG), *y = place_of(e, OP_RESHAPE);
    assert_true(plan_verify(e, &in_order, stderr));
    assert_int_equal(y->how == HOW_INPLACE, !gaps);
    if (gaps) rig_move(y, x, 0);
    if (gaps) rig_move(place_of(e, OP_ABS), x, 0);
    reject_for(gaps ? &in_order : &with_slack, e,
               "writes %r over its operand %v, which it still reads elsewhere");
    done(own, m);
    ctx_free(c);
  }
}

/* ---- what is proven for code generation ---- */

static void moves(void **state) {
  (void)state;
  static const char text[] = "module \"t.g\"\n"
                             "state @a : f32[64]\n"
                             "entry go(%x : f32[8,8], %y : f32[1,8], %i : i32[]) {\n"
                             "  %v = neg %x : f32[8,8]\n"
                             "  %r = reshape %v : f32[64]\n"
                             "  store @a, %r\n"
                             "  %w = abs %x : f32[8,8]\n"
                             "  %d = dynamic_update %w, %y, %i {axis = 0} : f32[8,8]\n"
                             "  return %d {names = \"d\"}\n"
                             "}\n";
  for (int in_place = 0; in_place < 2; in_place++) {
    Module *m;
    Ctx *c = read_plan(text, in_place ? "pack" : "none", &m);
    const Entry *e = m->entries.at[0];
    assert_null(plan_of(e)->moves);
    accept(e);
    assert_int_equal(plan_moves(e, only(e, OP_NEG)), MOVES_ALL);
    assert_int_equal(plan_moves(e, only(e, OP_RESHAPE)), MOVES_NOTHING);
    assert_int_equal(plan_moves(e, only(e, OP_STORE)), in_place ? MOVES_NOTHING : MOVES_ALL);
    assert_int_equal(plan_moves(e, only(e, OP_DYNAMIC_UPDATE)), in_place ? MOVES_PART : MOVES_ALL);
    done(c, m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(globals_of_others),
      cmocka_unit_test(slack_of_the_arena),
      cmocka_unit_test(strides),
      cmocka_unit_test(rows_in_place),
      cmocka_unit_test(moves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
