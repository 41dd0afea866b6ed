/* The C face of a model: a handle, a function for each entry with its tensors as typed pointers,
   and what loads, saves and sets. Contract: the functions only collect pointers; embed.h does the
   work. */
#include "codegen/build/library.h"
#include "codegen/text/text.h"

#include <inttypes.h>

static const char *const c_type[DTYPES] = {
    [DT_BOOL] = "bool",     [DT_U8] = "uint8_t",  [DT_I8] = "int8_t",
    [DT_I32] = "int32_t",   [DT_I64] = "int64_t", [DT_F16] = "uint16_t",
    [DT_BF16] = "uint16_t", [DT_F32] = "float",   [DT_F64] = "double"};

static const char *shape(const LibraryFunction *f, Arena *a, const Type *t) {
  Text x = text_new(a, 0);
  if (dtype_is_half(t->dtype)) text_add(&x, "%s", dtype_name(t->dtype));
  for (int i = 0; i < t->rank; i++) text_add(&x, "%s%s", i ? ", " : "[", library_dim(f, a, t, i));
  if (t->rank) text_add(&x, "]");
  return text_str(&x);
}

static const char *parameter(const LibraryFunction *f, Arena *a, const LibraryParam *p) {
  const char *type = c_type[p->type->dtype], *note = shape(f, a, p->type);
  if (p->key && strcmp(p->key, p->name) != 0) /* messages have the program's name */
    note = arena_printf(a, "%s%s%s", note, *note ? ", " : "", public_plain(a, p->key));
  if (p->output || p->type->rank)
    type = arena_printf(a, "%s%s *", p->output ? "" : "const ", type);
  else
    type = arena_printf(a, "%s ", type);
  return arena_printf(a, "%s%s%s%s%s", type, p->name, *note ? " /* " : "", note,
                      *note ? " */" : "");
}

/* bool mnist_train(mnist *m, const uint8_t *image, …), a parameter a line. */
static const char *prototype(const Library *l, const LibraryFunction *f) {
  Text x = text_new(l->a, 0);
  text_add(&x, "bool %s(%s *m", f->name, l->prefix);
  int indent = (int)strlen(f->name) + 6;
  for (int i = 0; i < f->nextents; i++)
    text_add(&x, ",\n%*sint %s /* %" PRId64 " to %" PRId64 " */", indent, "", f->extent_name[i],
             f->least[i], f->extent[i]->bound);
  for (int i = 0; i < f->nparams; i++)
    text_add(&x, ",\n%*s%s", indent, "", parameter(f, l->a, &f->param[i]));
  text_add(&x, ")");
  return text_str(&x);
}

/* Text with $ for the prefix, @ for the name of the host's target and % for that of the device that
   is tried first. */
static void put(const Library *l, FILE *f, const char *text) {
  for (; *text; text++) {
    if (*text == '$')
      fputs(l->prefix, f);
    else if (*text == '@')
      fputs(backend_host()->name, f);
    else if (*text == '%')
      fputs(backends[1]->name, f);
    else
      fputc(*text, f);
  }
}

static const char usage[] =
    "     if (!m) puts($_error(NULL));\n"
    "     ... train, or load weights; ask as often as you like ...\n"
    "     $_close(m);\n"
    "\n"
    "   What can fail returns false, and $_error(m) says why. Tensors are dense arrays in\n"
    "   row-major order: the last index runs fastest. They are the caller's, and are copied.\n"
    "   An output that is NULL is not wanted. A model is used by one thread at a time; several\n"
    "   models are independent. Nothing is allocated but by open, load and save. */\n";

static const char alone[] =
    "typedef struct $ $;\n"
    "\n"
    "/* A model with fresh weights, drawn from the seed, or NULL: $_error(NULL) says why.\n"
    "   threads: the cores it works on; 0 means all, a negative number is an error. They sleep\n"
    "   between calls. It is on a GPU where the library holds code for one and it can be used;\n"
    "   open_on chooses: device is \"@\", \"%\" or \"%:1\", or NULL for what open does. */\n"
    "$ *$_open(int threads, uint64_t seed);\n"
    "$ *$_open_on(const char *device, int threads, uint64_t seed);\n";

/* How a caller names the ranks: of which way of talking, and what stands for them in the header. */
typedef struct RanksFace {
  const char *by, *include, *compiler, *needs, *example;
  const char *opens, *functions;
} RanksFace;
static const RanksFace faces_of_ranks[] = {
    {"mpi", "#include <mpi.h>\n", "mpicc", "libc, libm and MPI", "MPI_COMM_WORLD, 0, 0",
     "/* One of the ranks that train together: each process of the communicator opens the model, "
     "which\n"
     "   works on a copy of it, after MPI_Init_thread with MPI_THREAD_FUNNELED or more. Weights "
     "are\n"
     "   fresh, drawn from rank 0's seed. NULL: $_error(NULL) says why. threads: the cores it "
     "works\n"
     "   on; 0 means a share of the machine's. open_on chooses the device, as \"@\"; NULL: what "
     "open\n"
     "   does. open_at takes the address of an MPI_Comm, as other languages have it. */\n"
     "$ *$_open(MPI_Comm ranks, int threads, uint64_t seed);\n"
     "$ *$_open_on(MPI_Comm ranks, const char *device, int threads, uint64_t seed);\n"
     "$ *$_open_at(const void *ranks, const char *device, int threads, uint64_t seed);\n",
     "$ *$_open_at(const void *ranks, const char *device, int threads, uint64_t seed) {\n"
     "  return ($ *)embed_open_rank(gcrt_comm_within, ranks, device, threads, seed);\n"
     "}\n"
     "$ *$_open_on(MPI_Comm ranks, const char *device, int threads, uint64_t seed) {\n"
     "  return $_open_at(&ranks, device, threads, seed);\n"
     "}\n"
     "$ *$_open(MPI_Comm ranks, int threads, uint64_t seed) {\n"
     "  return $_open_on(ranks, NULL, threads, seed);\n"
     "}\n"},
    {"nccl", "", "cc", "libc and libm, and NCCL 2 where it opens a model", "id, rank, 0, 0",
     "/* One of the ranks that train together: each process opens the model with the same id, and\n"
     "   with its rank. The id is an ncclUniqueId, 128 bytes; make_id or ncclGetUniqueId makes it "
     "on\n"
     "   one process, and a message or a file brings it to the others. Weights are fresh, drawn "
     "from\n"
     "   rank 0's seed. NULL: $_error(NULL) says why. open_on chooses the GPU, as \"%:1\": each "
     "rank\n"
     "   needs its own; open takes the first that the process sees. threads is not used. "
     "open_within\n"
     "   takes an ncclComm_t of these ranks in place of an id: one message goes through it, and "
     "it\n"
     "   stays the caller's. */\n"
     "bool $_make_id(void *id);\n"
     "$ *$_open(const void *id, int rank, int threads, uint64_t seed);\n"
     "$ *$_open_on(const void *id, int rank, const char *device, int threads, uint64_t seed);\n"
     "$ *$_open_within(void *comm, const char *device, int threads, uint64_t seed);\n",
     "EmbedId gcrt_nccl_id;\n"
     "bool $_make_id(void *id) { return embed_make_id(gcrt_nccl_id, id); }\n"
     "$ *$_open_on(const void *id, int rank, const char *device, int threads, uint64_t seed) {\n"
     "  const GcNcclRank of = {id, rank, NULL};\n"
     "  return ($ *)embed_open_rank(gcrt_comm_within, &of, device, threads, seed);\n"
     "}\n"
     "$ *$_open_within(void *comm, const char *device, int threads, uint64_t seed) {\n"
     "  const GcNcclRank of = {NULL, 0, comm};\n"
     "  return ($ *)embed_open_rank(gcrt_comm_within, &of, device, threads, seed);\n"
     "}\n"
     "$ *$_open(const void *id, int rank, int threads, uint64_t seed) {\n"
     "  return $_open_on(id, rank, NULL, threads, seed);\n"
     "}\n"}};

/* NULL: the model has no ranks. */
static const RanksFace *face_of_ranks(const CodegenOptions *o) {
  const RanksFace *f = faces_of_ranks;
  if (!o->ranks) return NULL;
  while (strcmp(f->by, o->ranks_by) != 0) f++;
  return f;
}

static const char of_ranks[] =
    "\n"
    "/* All ranks call open, close, load, save, reset and the entries below that say so, in one\n"
    "   order and from the thread that opened the model. Such a call fails on all ranks or on "
    "none.\n"
    "   Hypers must be equal on all ranks. */\n"
    "int $_rank(const $ *m); /* of this process */\n"
    "\n"
    "/* A rank that waits longer for another one has lost it: the call fails, and so do all later\n"
    "   ones. 600 seconds at first. m = NULL: of models that this thread opens from now on, and "
    "for\n"
    "   the ranks to come when it does. */\n"
    "void $_set_timeout($ *m, double seconds);\n";

static const char life[] =
    "void $_close($ *m); /* NULL is fine */\n"
    "\n"
    "/* Why the last call that failed did. The text is the model's, until the next failure. */\n"
    "const char *$_error(const $ *m);\n"
    "\n"
    "/* Weights and states as safetensors, the files that the executable form of the model\n"
    "   reads and writes. What does not fit is refused and changes nothing; weights that are\n"
    "   not finite are not saved, and an older file stays whole until the new one is. */\n"
    "bool $_load($ *m, const char *path);\n"
    "bool $_save($ *m, const char *path);\n"
    "\n"
    "/* Fresh weights, states and optimizer, as $_open makes them; hypers stay as they are. */\n"
    "bool $_reset($ *m, uint64_t seed);\n"
    "\n"
    "int $_threads(const $ *m);\n"
    "const char *$_device(const $ *m); /* it is on: \"@\", or \"%:0\" */\n"
    "uint64_t $_bytes(void); /* of memory that a model takes that is open on the CPU */\n";

static const char opens_alone[] =
    "$ *$_open(int threads, uint64_t seed) { return ($ *)embed_open(NULL, threads, seed); }\n"
    "$ *$_open_on(const char *device, int threads, uint64_t seed) {\n"
    "  return ($ *)embed_open(device, threads, seed);\n"
    "}\n";

static const char functions_of_ranks[] =
    "int $_rank(const $ *m) { return embed_rank((const GcModel *)m); }\n"
    "void $_set_timeout($ *m, double seconds) { embed_set_timeout((GcModel *)m, seconds); }\n";

static const char functions[] =
    "void $_close($ *m) { embed_close((GcModel *)m); }\n"
    "const char *$_error(const $ *m) { return embed_error((const GcModel *)m); }\n"
    "bool $_load($ *m, const char *path) { return embed_load((GcModel *)m, path); }\n"
    "bool $_save($ *m, const char *path) { return embed_save((GcModel *)m, path); }\n"
    "bool $_reset($ *m, uint64_t seed) { return embed_reset((GcModel *)m, seed); }\n"
    "int $_threads(const $ *m) { return embed_threads((const GcModel *)m); }\n"
    "const char *$_device(const $ *m) { return embed_device((const GcModel *)m); }\n"
    "uint64_t $_bytes(void) { return embed_bytes(); }\n";

static const char *hyper_text(Arena *a, const Hyper *h) {
  if (h->dtype == DT_BOOL) return h->value ? "true" : "false";
  return arena_printf(a, h->dtype == DT_I32 ? "%.0f" : "%.9g", h->value);
}

void library_print_header(const Library *l, FILE *f) {
  const char *p = l->prefix;
  const RanksFace *ranks = face_of_ranks(l->o);
  fprintf(f,
          LIBRARY_MARK "%s from %s; do not edit.\n\n"
                       "   The model as a C library:  %s program.c DIR/%s -Wl,-rpath,DIR\n"
                       "   where DIR is its folder. It needs %s alone.\n\n",
          l->o->version ? l->o->version : "", l->source, ranks ? ranks->compiler : "cc", l->file,
          ranks ? ranks->needs : "libc and libm");
  put(l, f, arena_printf(l->a, "     $ *m = $_open(%s);\n", ranks ? ranks->example : "0, 0"));
  put(l, f, usage);
  put(l, f,
      "#ifndef GC_LIBRARY_$_h\n#define GC_LIBRARY_$_h\n#include <stdbool.h>\n"
      "#include <stdint.h>\n");
  fprintf(f, "%s#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", ranks ? ranks->include : "");
  if (ranks) put(l, f, "typedef struct $ $;\n\n");
  put(l, f, ranks ? ranks->opens : alone);
  if (ranks) put(l, f, of_ranks);
  put(l, f, life);
  if (l->hypers.n) fputs("\n/* ---- hypers: set at any time, read by the next call ---- */\n", f);
  for (uint32_t i = 0; i < l->hypers.n; i++) {
    const Hyper *h = &l->hypers.at[i];
    const char *type = c_type[h->dtype];
    fprintf(f, "void %s(%s *m, %s value); /* %s at first */\n%s %s(const %s *m);\n", h->set, p,
            type, hyper_text(l->a, h), type, h->get, p);
  }
  for (uint32_t i = 0; i < l->functions.n; i++) {
    const LibraryFunction *e = &l->functions.at[i];
    const int share = e->entry->ranks;
    fprintf(
        f, "\n/* ---- %s%s%s ---- */\n", public_plain(l->a, e->entry->name),
        e->entry->training ? ": one step of training" : "",
        share ? arena_printf(l->a, "; all %d ranks call it, each with its rows of the batch", share)
        : entry_reads_gathered(e->entry) ? "; all ranks call it, which gather the params"
                                         : "");
    for (int k = 0; k < e->nparams; k++)
      if (e->param[k].count)
        fprintf(f, "#define %s %" PRId64 "\n", e->param[k].count, e->param[k].type->numel);
    fprintf(f, "%s;\n", prototype(l, e));
  }
  fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", f);
}

/* ---- the source ---- */

static void print_array(FILE *f, const char *type, const LibraryParam *p, int n) {
  if (!n) {
    fputs("NULL", f);
    return;
  }
  fprintf(f, "(%s[]){", type);
  for (int i = 0; i < n; i++)
    fprintf(f, "%s%s%s", i ? ", " : "", p[i].output || p[i].type->rank ? "" : "&", p[i].name);
  fputs("}", f);
}

void library_print_source(const Library *l, FILE *f) {
  const char *p = l->prefix;
  fprintf(f, LIBRARY_MARK "%s. */\n", l->o->version ? l->o->version : "");
  fputs("#include \"embed.h\"\n#include <stddef.h>\n#pragma GCC visibility push(default)\n"
        "#include \"model.h\"\n#pragma GCC visibility pop\n\n",
        f);
  const RanksFace *ranks = face_of_ranks(l->o);
  if (ranks) fputs("#include \"gcrt.h\"\nEmbedRanks gcrt_comm_within;\n", f);
  put(l, f, ranks ? ranks->functions : opens_alone);
  if (ranks) put(l, f, functions_of_ranks);
  put(l, f, functions);
  for (uint32_t i = 0; i < l->hypers.n; i++) {
    const char *type = c_type[l->hypers.at[i].dtype];
    fprintf(f,
            "void %s(%s *m, %s value) { embed_set_hyper((GcModel *)m, %u, value); }\n"
            "%s %s(const %s *m) { return (%s)embed_hyper((const GcModel *)m, %u); }\n",
            l->hypers.at[i].set, p, type, i, type, l->hypers.at[i].get, p, type, i);
  }
  for (uint32_t i = 0; i < l->functions.n; i++) {
    const LibraryFunction *e = &l->functions.at[i];
    fprintf(f, "\n%s {\n  return embed_run%s((GcModel *)m, %u, ", prototype(l, e),
            e->nextents ? "_of" : "", i);
    for (int k = 0; k < e->nextents; k++)
      fprintf(f, "%s%s", k ? ", " : "(const int[]){", e->extent_name[k]);
    if (e->nextents) fputs("}, ", f);
    print_array(f, "const void *const", e->param, e->ninputs);
    fputs(", ", f);
    print_array(f, "void *const", e->param + e->ninputs, e->nparams - e->ninputs);
    fputs(");\n}\n", f);
  }
}
