/* The verifier: one sound module, and one test for each way to damage it.
   Contract: a damage changes the module in place behind the builder's back; the verifier must
   refuse it with the expected words, name the op and the pass, and not crash. */
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const sound = "module \"v.g\"\n"
                                 "param @w : f32[3,4]\n"
                                 "state @s : f32[2,4]\n"
                                 "hyper @lr = 0.1\n"
                                 "init {\n"
                                 "  %a = const : f32[3,4]\n"
                                 "  %b = const : f32[2,4]\n"
                                 "  store @w, %a\n"
                                 "  store @s, %b\n"
                                 "  return\n"
                                 "}\n"
                                 "entry f(%x : f32[2,3]) {\n"
                                 "  %w = load @w : f32[3,4]\n"
                                 "  %s = load @s : f32[2,4]\n"
                                 "  %m = matmul %x, %w : f32[2,4] \"net\" v.g:4:7\n"
                                 "  %c = const {value = 2} : f32[2,4]\n"
                                 "  %u, %v = kernel %m, %s {name = \"k\"} : f32[2,4], f32[2,4] (%p "
                                 ": f32[2,4], %q : f32[2,4]) {\n"
                                 "    %r = add %p, %q : f32[2,4]\n"
                                 "    %t = relu %r : f32[2,4]\n"
                                 "    yield %r, %t\n"
                                 "  }\n"
                                 "  %lr = load @lr : f32[]\n"
                                 "  store @s, %u\n"
                                 "  return %v, %c, %lr {names = \"v,c,lr\"}\n"
                                 "}\n"
                                 "entry g(%y : f32[2]) {\n"
                                 "  return %y {names = \"y\"}\n"
                                 "}\n";

/* The module at hand and its parts, by their names in the text above. */
typedef struct D {
  Module *m, *other; /* other: made by a damage, or NULL */
  Entry *e;
  Op *load_w, *load_s, *matmul, *constant, *kernel, *add, *relu, *yield, *load_lr, *store, *ret;
} D;

static D parts(Module *m) {
  D d = {.m = m, .e = m->entries.at[0]};
  Op **at[] = {&d.load_w, &d.load_s, &d.matmul,  &d.constant, &d.kernel, &d.add,
               &d.relu,   &d.yield,  &d.load_lr, &d.store,    &d.ret};
  for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) *at[i] = op_at(d.e, (OpId)i);
  return d;
}

static const Type *wrong_type(D *d) { return type_scalar(d->m->ctx, DT_F64); }
static ValueId *uses(Op *op) { return (ValueId *)op->operands; }
static void drop_last(Block *b) { b->ops.n--; }

/* Moves the last op of a block to position `to`. */
static void move_last(Block *b, uint32_t to) {
  OpId last = b->ops.at[b->ops.n - 1];
  memmove(b->ops.at + to + 1, b->ops.at + to, (b->ops.n - 1 - to) * sizeof(OpId));
  b->ops.at[to] = last;
}

static void swap(Block *b, uint32_t i, uint32_t k) {
  OpId t = b->ops.at[i];
  b->ops.at[i] = b->ops.at[k];
  b->ops.at[k] = t;
}

static void use_nowhere(D *d) { uses(d->matmul)[1] = 9999; }
static void use_later(D *d) { swap(d->e->body, 0, 2); }
static void use_self(D *d) { uses(d->matmul)[0] = d->matmul->results[0]; }
static void use_inside(D *d) { uses(d->store)[0] = d->add->results[0]; }
static void use_outside(D *d) { uses(d->relu)[0] = d->constant->results[0]; }
static void count_operands(D *d) { d->matmul->noperands = 1; }
static void count_results(D *d) { d->matmul->nresults = 0; }
static void count_blocks(D *d) { d->kernel->nblocks = 0; }
static void no_scope(D *d) { d->matmul->scope = NULL; }
static void result_type(D *d) { value_at(d->e, d->matmul->results[0])->type = wrong_type(d); }
static void no_type(D *d) { value_at(d->e, d->matmul->results[0])->type = NULL; }
static void other_shape(D *d) { d->matmul->attr[AT_TB].i = 1; }
static void half_bool(D *d) { d->matmul->attr[AT_TA].i = 7; }
static void spare_slot(D *d) { d->constant->attr[3].i = 1; }
static void unrounded(D *d) { d->constant->attr[AT_VALUE].f = 0.1; }
static void wrong_def(D *d) { value_at(d->e, d->matmul->results[0])->def = d->constant->id; }
static void wrong_index(D *d) { value_at(d->e, d->kernel->results[1])->index = 0; }
static void defined_twice(D *d) { ((ValueId *)d->constant->results)[0] = d->matmul->results[0]; }
static void wrong_id(D *d) { d->matmul->id = 0; }
static void wrong_kind(D *d) { d->matmul->kind = (OpKind)OP_KINDS; }
static void wrong_parent(D *d) { d->matmul->parent = d->kernel->blocks[0]; }
static void op_nowhere(D *d) { d->e->body->ops.at[1] = 9999; }
static void op_twice(D *d) { d->e->body->ops.at[3] = d->e->body->ops.at[2]; }
static void op_lost(D *d) {
  uses(d->ret)[2] = d->constant->results[0];
  swap(d->e->body, 5, 6);
  swap(d->e->body, 6, 7);
  drop_last(d->e->body);
}
static void no_end(D *d) { drop_last(d->e->body); }
static void early_end(D *d) { move_last(d->e->body, 0); }
static void wrong_end(D *d) { d->ret->kind = OP_YIELD; }
static void wrong_nested_end(D *d) { d->yield->kind = OP_RETURN; }
static void empty_block(D *d) { d->kernel->blocks[0]->ops.n = 0; }
static void wrong_owner(D *d) { d->kernel->blocks[0]->op = d->matmul; }
static void load_twice(D *d) {
  d->load_s->attr[AT_GLOBAL].i = 0;
  value_at(d->e, d->load_s->results[0])->type = value_type(d->e, d->load_w->results[0]);
}
static void load_late(D *d) {
  static const OpId order[] = {0, 2, 3, 9, 1, 4, 8, 10};
  uses(d->store)[0] = d->constant->results[0];
  memcpy(d->e->body->ops.at, order, sizeof order);
}
static void load_nowhere(D *d) { d->load_w->attr[AT_GLOBAL].i = 3; }
static void load_type(D *d) { value_at(d->e, d->load_lr->results[0])->type = wrong_type(d); }
static void load_layout(D *d) {
  value_at(d->e, d->load_w->results[0])->layout = layout_panels(d->m->ctx, 8);
}
static void store_hyper(D *d) {
  d->store->attr[AT_GLOBAL].i = 2;
  uses(d->store)[0] = d->load_lr->results[0];
}
static void store_other(D *d) { uses(d->store)[0] = d->load_w->results[0]; }
static void vector_panels(D *d) {
  value_at(d->e, d->load_lr->results[0])->layout = layout_panels(d->m->ctx, 8);
}
static void kernel_load(D *d) {
  d->add->kind = OP_LOAD;
  d->add->noperands = 0;
  d->add->attr[AT_GLOBAL].i = 1;
}
static void kernel_operand(D *d) { uses(d->kernel)[0] = d->load_w->results[0]; }
static void kernel_argument(D *d) { d->kernel->blocks[0]->args.n = 1; }
static void kernel_result(D *d) { d->yield->noperands = 1; }
static void kernel_yield(D *d) {
  value_at(d->e, d->kernel->results[1])->type = value_type(d->e, d->load_w->results[0]);
}
static void return_names(D *d) { d->ret->attr[AT_NAMES].str = intern(d->m->ctx, "v,c"); }
static void return_nameless(D *d) { d->ret->attr[AT_NAMES].str = NULL; }
static void entry_module(D *d) { d->e->module = d->other = module_new(d->m->ctx, "other.g"); }
static void entry_names(D *d) { d->m->entries.at[1]->name = d->e->name; }
static void init_entry(D *d) { d->m->entries.at[1] = d->m->init; }
static void init_store(D *d) {
  module_add_global(d->m, (Global){.path = "b", .type = wrong_type(d)});
}
static void init_input(D *d) { entry_add_input(d->m->init, "x", type_scalar(d->m->ctx, DT_F32)); }
static void global_path(D *d) { d->m->globals.at[1].path = d->m->globals.at[0].path; }
static void global_type(D *d) { d->m->globals.at[1].type = NULL; }
static void hyper_type(D *d) { d->m->globals.at[2].type = wrong_type(d); }
static void hyper_value(D *d) {
  d->m->globals.at[2].type = type_scalar(d->m->ctx, DT_BOOL);
  d->m->globals.at[2].value = 2;
}
static void global_panels(D *d) { d->m->globals.at[2].layout = layout_panels(d->m->ctx, 8); }

static const struct {
  const char *name;
  void (*damage)(D *);
  const char *message;
} damages[] = {
#define D(NAME, MESSAGE)                                                                           \
  { #NAME, NAME, MESSAGE }
    D(use_nowhere, "op %m matmul at v.g:4:7: operand 1 is value 9999, which does not exist"),
    D(use_later, "op %m matmul at v.g:4:7: uses %w, which is not defined before it"),
    D(use_self, "op %m matmul at v.g:4:7: uses %m, which is not defined before it"),
    D(use_inside, "op store: uses %r, which is not defined before it"),
    D(use_outside, "op %t relu: uses %c from outside its kernel"),
    D(count_operands, "op %m matmul at v.g:4:7: has 1 operands, not 2"),
    D(count_results, "op matmul at v.g:4:7: has 0 results, not 1"),
    D(count_blocks, "op %u kernel: has 0 blocks, not 1"),
    D(no_scope, "has no scope, not even an empty one"),
    D(result_type, "op %m matmul at v.g:4:7: has type f64[], but its rule gives f32[2,4]"),
    D(no_type, "defines %m without a type"),
    D(other_shape, "op %m matmul at v.g:4:7: matmul"),
    D(half_bool, "attribute ta is 7, not 0 or 1"),
    D(spare_slot, "has an attribute in the unused slot 3"),
    D(unrounded, "op %c const: attribute value is not a value of f32"),
    D(wrong_def, "defines %m, which says it comes from elsewhere"),
    D(wrong_index, "op %u kernel: defines %v, which says it comes from elsewhere"),
    D(defined_twice, "defines %m, which says it comes from elsewhere"),
    D(wrong_id, "op 2 says that it is op 0"),
    D(wrong_kind, "of kind"),
    D(wrong_parent, "says that it is in another block"),
    D(op_nowhere, "a block holds op 9999 of 11"),
    D(op_twice, "op %m matmul at v.g:4:7: stands in a block twice"),
    D(op_lost, "op %lr load: stands in no block"),
    D(no_end, "op store: is the last of its block, which must end in return"),
    D(early_end, "op return: ends its block, but ops follow it"),
    D(wrong_end, "op yield: ends a block that must end in return"),
    D(wrong_nested_end, "op %u kernel: has a block that does not end in yield"),
    D(empty_block, "has a block that does not end in yield"),
    D(wrong_owner, "has a block that belongs to another op"),
    D(load_twice, "op %s load: loads @w again in its block"),
    D(load_late, "op %s load: loads @s after its store"),
    D(load_nowhere, "op %w load: names global 3 of 3"),
    D(load_type, "op %lr load: loads @lr as f64[], but it is f32[]"),
    D(load_layout, "op %w load: loads @w in another layout than it has"),
    D(store_hyper, "op store: stores the hyperparameter @lr"),
    D(store_other, "op store: stores @s as f32[3,4], but it is f32[2,4]"),
    D(vector_panels, "op %lr load: gives %lr of type f32[] a layout that does not fit it"),
    D(kernel_load, "op %r load: touches @s inside a kernel: it must come in as an operand"),
    D(kernel_operand, "op %u kernel: passes %w as operand 0, but argument %p is of another type"),
    D(kernel_argument, "op %u kernel: has 2 operands, but its block has 1 arguments"),
    D(kernel_result, "op %u kernel: has 2 results, but its block yields 1"),
    D(kernel_yield, "has result %v of type f32[3,4], but its block yields f32[2,4]"),
    D(return_names, "op return: returns 3 values, but names 2"),
    D(return_nameless, "op return: returns 3 values, but names 0"),
    D(entry_module, "the entry belongs to another module"),
    D(entry_names, "there are two entries f"),
    D(init_entry, "init is among the entries"),
    D(init_store, "in entry init: init does not set @b"),
    D(init_input, "in entry init: init has inputs"),
    D(global_path, "@w is declared twice"),
    D(global_type, "global 1 has no path or no type"),
    D(hyper_type, "the hyperparameter @lr is f64[], not f32[], i32[] or bool[]"),
    D(hyper_value, "the hyperparameter @lr holds 2, which is not of bool[]"),
    D(global_panels, "@lr of type f32[] has a layout that does not fit it"),
#undef D
};

static char *verify(Ctx *c, const Module *m, bool *ok) {
  char *said;
  size_t n;
  FILE *f = open_memstream(&said, &n);
  ctx_set_stream(c, f);
  *ok = module_verify(m, "fuse");
  ctx_set_stream(c, stderr);
  fclose(f);
  return said;
}

static void the_sound_one_passes(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  Module *m = module_read(c, ctx_add_source(c, "v.ir", sound, strlen(sound)));
  assert_non_null(m);
  bool ok;
  char *said = verify(c, m, &ok);
  assert_true(ok);
  assert_string_equal(said, "");
  for (uint32_t i = 0; i < m->entries.n; i++) assert_true(entry_verify(m->entries.at[i], NULL));
  free(said);
  module_free(m);
  ctx_free(c);
}

static void each_damage_is_found(void **state) {
  (void)state;
  int missed = 0;
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    Ctx *c = ctx_new();
    Module *m = module_read(c, ctx_add_source(c, "v.ir", sound, strlen(sound)));
    assert_non_null(m);
    D d = parts(m);
    damages[i].damage(&d);
    bool ok;
    char *said = verify(c, m, &ok);
    if (ok || !strstr(said, damages[i].message) || !strstr(said, "error: after pass fuse: "))
      missed += fprintf(stderr, "%s says: %s", damages[i].name, ok ? "nothing\n" : said);
    free(said);
    module_free(d.other);
    module_free(m);
    ctx_free(c);
  }
  assert_int_equal(missed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sound_one_passes),
      cmocka_unit_test(each_damage_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
