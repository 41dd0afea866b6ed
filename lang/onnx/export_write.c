/* The bytes of an exported model. Initializers come one by one from a file of the user's, or from
   the entry `init`, which the reference interpreter runs for each of them alone; so one tensor is
   in memory at a time.
   Contract: protobuf-c packs all but the initializers' data; those messages are written around it,
   with lengths that are known before: field 7 of ModelProto is the graph, field 5 of GraphProto an
   initializer, field 9 of TensorProto its data. A file of data has a line that says whose it is,
   then tensors at multiples of ALIGNED bytes, so that they can be mapped. */
#include "ir/eval/interp.h"
#include "lang/onnx/export.h"

#include <inttypes.h>
#include <stdlib.h>

enum { GRAPH = 7, INITIALIZER = 5, RAW_DATA = 9, IR_VERSION = 8, OPSET = 18, ALIGNED = 4096 };

/* ---- initial values ---- */

static const Op *store_of(const Entry *init, int global) {
  for (uint32_t i = 0; init && i < init->body->ops.n; i++) {
    const Op *op = op_at(init, init->body->ops.at[i]);
    if (op->kind == OP_STORE && op->attr[AT_GLOBAL].i == global) return op;
  }
  return NULL;
}

/* An entry that stores this one global: the ops that its value needs. */
static Entry *init_of(Module *m, const Entry *init, const Op *store) {
  Arena *a = m->arena;
  bool *needed = ARENA_ARRAY(a, bool, init->values.n + 1);
  ValueId *map = ARENA_ARRAY(a, ValueId, init->values.n + 1);
  needed[store->operands[0]] = true;
  for (uint32_t i = store->id + 1; i-- > 0;) {
    const Op *op = init->ops.at[i];
    bool any = false;
    for (int k = 0; k < op->nresults; k++) any |= needed[op->results[k]];
    for (int k = 0; any && k < op->noperands; k++) needed[op->operands[k]] = true;
  }
  Entry *e = entry_new(m, "init", store->loc);
  Builder *b = builder_new(e, e->body);
  b->fold = true;
  for (uint32_t i = 0; i < init->body->ops.n; i++) {
    const Op *op = op_at(init, init->body->ops.at[i]);
    bool any = op == store;
    for (int k = 0; k < op->nresults; k++) any |= needed[op->results[k]];
    if (any) build_copy(b, init, op, map);
    if (op == store) break;
  }
  build_return(b, NULL, NULL, 0);
  return e;
}

static void table_elements(const Global *g, uint8_t *out) {
  const Dtype dt = g->type->dtype;
  for (int64_t i = 0; i < g->type->numel; i++) {
    const Attr v = g->table[i];
    const Number n = dtype_is_float(dt) ? (Number){.f = v.f} : (Number){.i = v.i};
    number_put(elem_of_dtype(dt), n, out + i * dtype_size(dt));
  }
}

/* The interpreter allocates every global: the others but tables count as scalars here. */
static bool initial(Export *x, int global, uint8_t *out) {
  const Global *g = &x->m->globals.at[global];
  if (g->table) return table_elements(g, out), true;
  const Op *store = store_of(x->m->init, global);
  if (!store) gc_bug(x->c, "nothing stores the initial value of %s", g->path);
  Module one = *x->m;
  one.globals.at = ARENA_ARRAY(x->a, Global, one.globals.n);
  for (uint32_t i = 0; i < one.globals.n; i++) {
    one.globals.at[i] = x->m->globals.at[i];
    if ((int)i != global && !one.globals.at[i].table)
      one.globals.at[i].type = type_scalar(x->c, g->type->dtype);
  }
  const Entry *e = init_of(x->m, x->m->init, store);
  Interp *it = interp_new(&one, INTERP_DTYPE, 0);
  bool ok = interp_run(it, e, NULL, NULL);
  if (!ok) diag(x->c, SEV_ERROR, g->loc, "the initial value of %s: %s", g->path, it->why);
  int elem = elem_of_dtype(g->type->dtype), size = dtype_size(g->type->dtype);
  for (int64_t i = 0; ok && i < g->type->numel; i++) {
    Scalar v = it->globals[global].at[i];
    Number n = dtype_is_float(g->type->dtype) ? (Number){.f = v.f} : (Number){.i = v.i};
    number_put(elem, n, out + i * size);
  }
  interp_free(it);
  return ok;
}

/* ---- values of a file ---- */

void onnx_elements(const Type *t, const OnnxTensor *from, uint8_t *out) {
  int elem = elem_of_dtype(from->dtype), to = elem_of_dtype(t->dtype);
  int64_t size = dtype_size(from->dtype), columns = from->transposed ? t->dim[1] : 1;
  int64_t rows = t->numel / (columns ? columns : 1);
  for (int64_t i = 0; i < t->numel; i++) {
    int64_t at = from->transposed ? i % columns * rows + i / columns : i;
    const uint8_t *p = (const uint8_t *)from->bytes + at * size;
    if (from->dtype == t->dtype)
      memcpy(out + i * size, p, (size_t)size);
    else
      number_put(to, number_get(elem, p), out + i * dtype_size(t->dtype));
  }
}

/* A global's elements, malloc'ed; NULL after a diagnostic. */
static uint8_t *bytes_of(Export *x, int global) {
  const Global *g = &x->m->globals.at[global];
  uint8_t *out = malloc(g->type->bytes + 1);
  if (!out) out_of_memory();
  if (g->kind == GLOBAL_HYPER) {
    bool real = dtype_is_float(g->type->dtype);
    number_put(elem_of_dtype(g->type->dtype),
               real ? (Number){.f = g->value} : (Number){.i = (int64_t)g->value}, out);
    return out;
  }
  OnnxTensor from = {.dtype = g->type->dtype};
  bool ok = !x->weights || x->weights->read(x->weights->data, g, &from);
  if (ok && from.bytes)
    onnx_elements(g->type, &from, out);
  else if (ok)
    ok = initial(x, global, out);
  free(from.bytes);
  if (ok) return out;
  free(out);
  return NULL;
}

/* ---- layout of the file ---- */

static size_t varint(uint64_t v, uint8_t *out) {
  size_t n = 0;
  do out[n++] = (uint8_t)(v & 127) | (v > 127 ? 128 : 0);
  while (v >>= 7);
  return n;
}

/* The beginning of a field of this many bytes. */
static size_t field(int number, uint64_t bytes, uint8_t *out) {
  size_t n = varint((uint64_t)number << 3 | 2, out);
  return n + varint(bytes, out + n);
}
enum { FIELD_BYTES = 12 };

static Onnx__StringStringEntryProto *pair(Export *x, const char *key, const char *value) {
  Onnx__StringStringEntryProto *p = ARENA_NEW(x->a, Onnx__StringStringEntryProto);
  onnx__string_string_entry_proto__init(p);
  p->key = (char *)key, p->value = (char *)value;
  return p;
}

static uint64_t aligned(uint64_t n) { return (n + ALIGNED - 1) / ALIGNED * ALIGNED; }

/* An initializer but for its data; those of hypers, of one number, stay in the model. */
static Onnx__TensorProto *tensor_of(Export *x, const Initializer *i, uint64_t *offset) {
  const Global *g = &x->m->globals.at[i->global];
  Onnx__TensorProto *t = ARENA_NEW(x->a, Onnx__TensorProto);
  onnx__tensor_proto__init(t);
  t->name = (char *)i->name;
  t->has_data_type = 1, t->data_type = elem_of_dtype(g->type->dtype);
  t->n_dims = (size_t)g->type->rank;
  t->dims = (int64_t *)g->type->dim;
  if (!x->external || g->kind == GLOBAL_HYPER) return t;
  t->has_data_location = 1, t->data_location = 1;
  t->n_external_data = 3;
  t->external_data = ARENA_ARRAY(x->a, Onnx__StringStringEntryProto *, 3);
  t->external_data[0] = pair(x, "location", x->external);
  t->external_data[1] = pair(x, "offset", arena_printf(x->a, "%" PRIu64, *offset));
  t->external_data[2] = pair(x, "length", arena_printf(x->a, "%" PRIu64, g->type->bytes));
  *offset = aligned(*offset + g->type->bytes);
  return t;
}

static uint64_t tensor_bytes_of(const Export *x, const Onnx__TensorProto *t, const Type *type) {
  uint8_t head[FIELD_BYTES];
  uint64_t n = onnx__tensor_proto__get_packed_size(t);
  return t->has_data_location ? n : n + field(RAW_DATA, type->bytes, head) + type->bytes;
}

static void write_packed(FILE *f, const ProtobufCMessage *m) {
  size_t n = protobuf_c_message_get_packed_size(m);
  uint8_t *bytes = malloc(n + 1);
  if (!bytes) out_of_memory();
  fwrite(bytes, 1, protobuf_c_message_pack(m, bytes), f);
  free(bytes);
}

static void write_field(FILE *f, int number, uint64_t bytes) {
  uint8_t head[FIELD_BYTES];
  fwrite(head, 1, field(number, bytes, head), f);
}

/* All but the initializers. */
static Onnx__GraphProto *graph_of(Export *x) {
  Onnx__GraphProto *g = ARENA_NEW(x->a, Onnx__GraphProto);
  onnx__graph_proto__init(g);
  g->name = (char *)x->e->name;
  g->n_input = x->inputs.n, g->n_output = x->outputs.n;
  g->input = ARENA_ARRAY(x->a, Onnx__ValueInfoProto *, x->inputs.n + 1);
  g->output = ARENA_ARRAY(x->a, Onnx__ValueInfoProto *, x->outputs.n + 1);
  for (uint32_t i = 0; i < x->inputs.n; i++)
    g->input[i] = value_info(x, x->inputs.at[i].name, x->inputs.at[i].type);
  for (uint32_t i = 0; i < x->outputs.n; i++)
    g->output[i] = value_info(x, x->outputs.at[i].name, x->outputs.at[i].type);
  const Nodes *part[] = {&x->constants, &x->extents, &x->top};
  g->node = ARENA_ARRAY(x->a, Onnx__NodeProto *, x->constants.n + x->extents.n + x->top.n + 1);
  for (int k = 0; k < 3; k++)
    for (uint32_t i = 0; i < part[k]->n; i++) g->node[g->n_node++] = part[k]->at[i];
  return g;
}

/* ---- the files ---- */

uint64_t onnx_bytes(const OnnxExport *x) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < x->initializers.n; i++)
    n += x->m->globals.at[x->initializers.at[i].global].type->bytes;
  return n;
}

void onnx_external(OnnxExport *x, const char *name) { x->external = intern(x->c, name); }

static bool write_value(Export *x, int global, FILE *f) {
  uint8_t *bytes = bytes_of(x, global);
  if (!bytes) return false;
  fwrite(bytes, 1, x->m->globals.at[global].type->bytes, f);
  free(bytes);
  return true;
}

bool onnx_write_data(OnnxExport *x, FILE *f) {
  uint64_t at = (uint64_t)fprintf(f, "Data of a model by gc %s\n", GC_VERSION);
  for (uint32_t i = 0; i < x->initializers.n && !ferror(f); i++) {
    int global = x->initializers.at[i].global;
    const Global *g = &x->m->globals.at[global];
    if (g->kind == GLOBAL_HYPER) continue;
    for (uint64_t end = aligned(at); at < end; at++) fputc('\n', f);
    if (!write_value(x, global, f)) return false;
    at += g->type->bytes;
  }
  return !ferror(f);
}

bool onnx_write(OnnxExport *x, FILE *f) {
  Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets = &opset;
  opset.domain = "", opset.has_version = 1, opset.version = OPSET;
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  model.has_ir_version = 1, model.ir_version = IR_VERSION;
  model.producer_name = "gc", model.producer_version = GC_VERSION;
  model.n_opset_import = 1, model.opset_import = &opsets;
  Onnx__GraphProto *g = graph_of(x);
  Onnx__TensorProto **t = ARENA_ARRAY(x->a, Onnx__TensorProto *, x->initializers.n + 1);
  uint64_t all = onnx__graph_proto__get_packed_size(g), offset = ALIGNED;
  uint8_t head[FIELD_BYTES];
  for (uint32_t i = 0; i < x->initializers.n; i++) {
    t[i] = tensor_of(x, &x->initializers.at[i], &offset);
    uint64_t n = tensor_bytes_of(x, t[i], x->m->globals.at[x->initializers.at[i].global].type);
    all += field(INITIALIZER, n, head) + n;
  }
  write_packed(f, &model.base);
  write_field(f, GRAPH, all);
  write_packed(f, &g->base);
  for (uint32_t i = 0; i < x->initializers.n && !ferror(f); i++) {
    int global = x->initializers.at[i].global;
    const Type *type = x->m->globals.at[global].type;
    write_field(f, INITIALIZER, tensor_bytes_of(x, t[i], type));
    write_packed(f, &t[i]->base);
    if (t[i]->has_data_location) continue;
    write_field(f, RAW_DATA, type->bytes);
    if (!write_value(x, global, f)) return false;
  }
  return !ferror(f);
}
