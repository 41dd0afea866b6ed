/* Streams, events, captures and graphs. Work runs when it is submitted; captured work becomes nodes
 * with the edges that streams and events give. A graph's nodes run in any order that the edges
 * allow, chosen by FAKECUDA_ORDER, so that a missing edge shows in the results. */
#include "fake.h"
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Event {
  double ms;
  bool recorded;
  struct Graph *capture;
  int *nodes;
  int count;
};

void work_free(Work *w) {
  free(w->params);
  free(w->after);
}

static void set_time(struct Event *event) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  event->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
  event->recorded = true;
}

/* ---- running ---- */
static CUresult run_kernel(const Work *w) {
  Driver *d = driver();
  PtxBuf *bufs;
  size_t n;
  const PtxKernel *k = w->function->kernel;
  char *params =
      malloc(ptx_kernel_params_size(k) + 1); /* with the numbers of arguments in pointers */
  if (!params) return d->sticky = CUDA_OUT_OF_MEMORY;
  memcpy(params, w->params, ptx_kernel_params_size(k));
  if (!w->function->buffers) {
    n = memory_buffers(&bufs);
  } else if (!declared_launch(w->function, params, &bufs, &n)) {
    free(bufs);
    free(params);
    return d->sticky = CUDA_ILLEGAL_ADDRESS;
  }
  PtxLaunch l = {.dynamic_shared = w->shared,
                 .params = params,
                 .params_size = ptx_kernel_params_size(k),
                 .bufs = bufs,
                 .nbufs = n,
                 .checks = d->checks,
                 .order = d->order,
                 .max_steps = d->max_steps};
  memcpy(l.grid, w->grid, sizeof l.grid);
  memcpy(l.block, w->block, sizeof l.block);
  PtxResult r;
  fenv_t caller; /* a kernel rounds as it says */
  fegetenv(&caller);
  PtxStatus s = ptx_launch(k, &l, &r);
  fesetenv(&caller);
  free(bufs);
  free(params);
  if (d->work) {
    fprintf(d->work, "%s %llu\n", ptx_kernel_name(k), (unsigned long long)r.steps);
    fflush(d->work);
  }
  for (size_t i = 0; i < r.count; i++) {
    const PtxFinding *f = &r.findings[i];
    fprintf(stderr,
            "fakecuda: kernel %s, PTX line %d, CTA (%u,%u,%u), thread (%u,%u,%u), address %llx, "
            "%llu times: %s: %s\n",
            ptx_kernel_name(k), f->line, f->cta[0], f->cta[1], f->cta[2], f->thread[0],
            f->thread[1], f->thread[2], (unsigned long long)f->address,
            (unsigned long long)f->count, ptx_kind_name(f->kind), f->text);
  }
  const char *left = ptx_kernel_leaves(k);
  if (left && s == PTX_OK) {
    fprintf(stderr, "fakecuda: kernel %s leaves its memory changed: %s\n", ptx_kernel_name(k),
            left);
    s = PTX_REFUSED;
  }
  if (r.error[0]) fprintf(stderr, "fakecuda: kernel %s: %s\n", ptx_kernel_name(k), r.error);
  bool address = r.count && (r.findings[0].kind == PTX_BOUNDS || r.findings[0].kind == PTX_RIGHTS);
  ptx_result_free(&r);
  if (s != PTX_OK) d->sticky = address ? CUDA_ILLEGAL_ADDRESS : CUDA_LAUNCH_FAILED;
  return d->sticky;
}

CUresult work_run(const Work *w) {
  switch (w->kind) {
  case WORK_KERNEL: return run_kernel(w);
  case WORK_COPY: return memory_copy(w->to, w->from, w->device_from, w->host_to, w->size);
  case WORK_SET: return memory_set(w->to, w->value, w->width, w->size);
  case WORK_HOST: w->host(w->host_arg); break;
  case WORK_EVENT: set_time(w->event); break;
  case WORK_NOTHING: break;
  }
  return CUDA_SUCCESS;
}

static bool add_ints(int **list, int *count, const int *more, int n) {
  if (!n) return true;
  int *grown = realloc(*list, (size_t)(*count + n) * sizeof *grown);
  if (!grown) return false;
  *list = grown;
  memcpy(grown + *count, more, (size_t)n * sizeof *more);
  *count += n;
  return true;
}

CUresult work_submit(struct Stream *s, Work w) {
  if (!s || !s->capture) {
    CUresult r = work_run(&w);
    work_free(&w);
    return r;
  }
  struct Graph *g = s->capture;
  Work *grown = realloc(g->nodes, (size_t)(g->count + 1) * sizeof *grown);
  if (!grown) {
    work_free(&w);
    return CUDA_OUT_OF_MEMORY;
  }
  g->nodes = grown;
  w.after = s->last; /* the stream's next node comes after this one alone */
  w.nafter = s->nlast;
  g->nodes[g->count] = w;
  s->last = NULL;
  s->nlast = 0;
  return add_ints(&s->last, &s->nlast, &(int){g->count++}, 1) ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}

/* What is in front of the stream's next work is one kernel. A kernel that nobody waits for may be
   one of an earlier graph: that was waited for. */
static bool behind_kernel(const struct Stream *s) {
  if (!s || !s->capture) return true;
  return s->nlast == 1 && s->capture->nodes[s->last[0]].kind == WORK_KERNEL;
}

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                       void **extra, bool programmatic) {
  if (!f) return CUDA_INVALID_HANDLE;
  if (driver()->log) fprintf(driver()->log, "blocks %u\n", gx);
  size_t size = ptx_kernel_params_size(f->kernel);
  if (!gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535 || bx > 1024 ||
      by > 1024 || bz > 64 || (uint64_t)bx * by * bz > 1024)
    return CUDA_INVALID_VALUE;
  if (bx * by * bz > ptx_kernel_max_threads(f->kernel)) return CUDA_LAUNCH_OUT_OF_RESOURCES;
  if (shared > f->max_dynamic) return CUDA_INVALID_VALUE;
  if (programmatic && (!ptx_kernel_waits(f->kernel) || !behind_kernel(stream))) {
    fprintf(stderr, "fakecuda: kernel %s may begin before the work in front of it has ended, %s\n",
            ptx_kernel_name(f->kernel),
            ptx_kernel_waits(f->kernel) ? "which is no kernel" : "and does not wait for it");
    return CUDA_INVALID_VALUE;
  }
  Work w = {.kind = WORK_KERNEL,
            .function = f,
            .grid = {gx, gy, gz},
            .block = {bx, by, bz},
            .shared = shared,
            .programmatic = programmatic,
            .params = calloc(1, size + 1)};
  if (!w.params) return CUDA_OUT_OF_MEMORY;
  bool ok = !size || params || extra;
  if (params) {
    for (size_t i = 0; i < ptx_kernel_params(f->kernel); i++) {
      PtxParam p = ptx_kernel_param(f->kernel, i);
      memcpy(w.params + p.offset, params[i], p.size);
    }
  } else if (extra) { /* a packed block: {1, pointer, 2, &size, 0} */
    ok = extra[0] == (void *)1 && extra[2] == (void *)2 && *(size_t *)extra[3] >= size;
    if (ok) memcpy(w.params, extra[1], size);
  }
  if (!ok) {
    work_free(&w);
    return CUDA_INVALID_VALUE;
  }
  return work_submit(stream, w);
}

CALL(cuLaunchKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, CUstream stream, void **params, void **extra),
     (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra)) {
  return launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, false);
}

typedef struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int allowed;
  } value;
} LaunchAttribute;
typedef struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  LaunchAttribute *attributes;
  unsigned count;
} LaunchConfig;
enum { ATTRIBUTE_PROGRAMMATIC = 6 };

CALL(cuLaunchKernelEx, (const LaunchConfig *c, CUfunction f, void **params, void **extra),
     (c, f, params, extra)) {
  bool programmatic = false;
  for (unsigned i = 0; i < c->count; i++) {
    if (c->attributes[i].id != ATTRIBUTE_PROGRAMMATIC) return CUDA_INVALID_VALUE;
    programmatic |= c->attributes[i].value.allowed != 0;
  }
  if (driver()->log && programmatic) fprintf(driver()->log, "programmatic\n");
  return launch(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
                c->shared, c->stream, params, extra, programmatic);
}

/* It may wait as long as it likes, and call nothing of the driver. */
CALL(cuLaunchHostFunc, (CUstream stream, void (*f)(void *), void *arg), (stream, f, arg)) {
  return f ? work_submit(stream, (Work){.kind = WORK_HOST, .host = f, .host_arg = arg})
           : CUDA_INVALID_VALUE;
}

/* ---- streams ---- */
CALL(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags)) {
  struct Stream *s = calloc(1, sizeof *s);
  if (!s) return CUDA_OUT_OF_MEMORY;
  s->next = driver()->streams;
  driver()->streams = s;
  *stream = s;
  return CUDA_SUCCESS;
}
CALL(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
     (stream, flags, priority)) {
  return body_cuStreamCreate(stream, flags);
}
CALL(cuStreamDestroy_v2, (CUstream stream), (stream)) {
  for (struct Stream **at = &driver()->streams; *at; at = &(*at)->next)
    if (*at == stream) {
      *at = stream->next;
      free(stream->last);
      free(stream);
      return CUDA_SUCCESS;
    }
  return CUDA_INVALID_HANDLE;
}
static CUresult not_capturing(CUstream s) {
  return s && s->capture ? CUDA_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CALL(cuStreamSynchronize, (CUstream stream), (stream)) { return not_capturing(stream); }
CALL(cuStreamQuery, (CUstream stream), (stream)) { return not_capturing(stream); }

/* ---- events ---- */
CALL(cuEventCreate, (CUevent * event, unsigned flags), (event, flags)) {
  *event = calloc(1, sizeof **event);
  return *event ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}
CALL(cuEventDestroy_v2, (CUevent event), (event)) {
  if (!event) return CUDA_INVALID_HANDLE;
  free(event->nodes);
  free(event);
  return CUDA_SUCCESS;
}
CALL(cuEventRecord, (CUevent event, CUstream stream), (event, stream)) {
  if (!event) return CUDA_INVALID_HANDLE;
  set_time(event);
  event->capture = stream ? stream->capture : NULL;
  event->count = 0;
  if (!event->capture) return CUDA_SUCCESS;
  return add_ints(&event->nodes, &event->count, stream->last, stream->nlast) ? CUDA_SUCCESS
                                                                             : CUDA_OUT_OF_MEMORY;
}
/* With a node of its own, which records when the graph runs. */
CALL(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
     (event, stream, flags)) {
  enum { NODE = 1 };
  if (!flags) return body_cuEventRecord(event, stream);
  if (flags != NODE || !event || !stream || !stream->capture) return CUDA_INVALID_VALUE;
  event->recorded = false;
  event->capture = NULL;
  return work_submit(stream, (Work){.kind = WORK_EVENT, .event = event});
}
CALL(cuEventSynchronize, (CUevent event), (event)) {
  if (!event) return CUDA_INVALID_HANDLE;
  return event->capture ? CUDA_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CALL(cuEventQuery, (CUevent event), (event)) { return event ? CUDA_SUCCESS : CUDA_INVALID_HANDLE; }
CALL(cuEventElapsedTime, (float *ms, CUevent from, CUevent to), (ms, from, to)) {
  if (!from || !to || !from->recorded || !to->recorded) return CUDA_INVALID_HANDLE;
  *ms = (float)(to->ms - from->ms);
  return CUDA_SUCCESS;
}
CALL(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags)) {
  if (!event) return CUDA_INVALID_HANDLE;
  if (!event->capture) return CUDA_SUCCESS; /* what it stands for is done */
  if (!stream || (stream->capture && stream->capture != event->capture))
    return CUDA_STREAM_CAPTURE_UNSUPPORTED;
  stream->capture = event->capture; /* a fork: this stream is captured, too */
  if (++driver()->waits == driver()->deaf) return CUDA_SUCCESS; /* and nothing waits: a fault */
  return add_ints(&stream->last, &stream->nlast, event->nodes, event->count) ? CUDA_SUCCESS
                                                                             : CUDA_OUT_OF_MEMORY;
}

/* ---- capture ---- */
CALL(cuStreamBeginCapture_v2, (CUstream stream, int mode), (stream, mode)) {
  if (!stream || stream->capture) return CUDA_ILLEGAL_STATE;
  stream->capture = calloc(1, sizeof *stream->capture);
  stream->origin = true;
  return stream->capture ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}
CALL(cuStreamIsCapturing, (CUstream stream, int *status), (stream, status)) {
  *status = stream && stream->capture;
  return CUDA_SUCCESS;
}

static void stop_capture(struct Stream *s) {
  s->capture = NULL;
  s->origin = false;
  free(s->last);
  s->last = NULL;
  s->nlast = 0;
}

/* Marks all nodes that the given ones come after. */
static void mark(const struct Graph *g, bool *seen, const int *from, int n) {
  for (int i = 0; i < n; i++) seen[from[i]] = true;
  for (int i = g->count - 1; i >= 0; i--)
    for (int a = 0; seen[i] && a < g->nodes[i].nafter; a++) seen[g->nodes[i].after[a]] = true;
}

static void graph_free(struct Graph *g) {
  for (int i = 0; i < g->count; i++) work_free(&g->nodes[i]);
  free(g->nodes);
  free(g);
}

static CUresult end_capture(CUstream stream, CUgraph *graph) {
  if (!stream || !stream->capture || !stream->origin) return CUDA_ILLEGAL_STATE;
  struct Graph *g = stream->capture;
  bool *seen = calloc((size_t)g->count + 1, sizeof *seen), joined = true;
  if (!seen) return CUDA_OUT_OF_MEMORY;
  mark(g, seen, stream->last, stream->nlast);
  for (int i = 0; i < g->count; i++) joined &= seen[i];
  free(seen);
  for (struct Stream *s = driver()->streams; s; s = s->next)
    if (s->capture == g) stop_capture(s);
  if (!joined) return CUDA_STREAM_CAPTURE_UNJOINED; /* a forked stream never came back */
  *graph = g;
  return CUDA_SUCCESS;
}

/* The capture is over even where this is told to fail, as it is on a device. */
API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  CUgraph made = NULL;
  CUresult fails = enter("cuStreamEndCapture", true), r = end_capture(stream, &made);
  if (fails && made) {
    graph_free(made);
    made = NULL;
  }
  *graph = made;
  return leave(fails ? fails : r);
}

/* ---- graphs ---- */
/* A copy, since the graph may be destroyed before what was made of it. */
CALL(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
     (exec, graph, flags)) {
  if (!graph) return CUDA_INVALID_HANDLE;
  struct Graph *e = calloc(1, sizeof *e);
  if (!e || !(e->nodes = calloc((size_t)graph->count + 1, sizeof *e->nodes))) {
    free(e);
    return CUDA_OUT_OF_MEMORY;
  }
  for (int i = 0; i < graph->count; i++) {
    const Work *w = &graph->nodes[i];
    Work *c = &e->nodes[e->count++];
    *c = *w;
    c->after = NULL;
    c->nafter = 0;
    c->params = NULL;
    size_t size = w->kind == WORK_KERNEL ? ptx_kernel_params_size(w->function->kernel) : 0;
    if ((w->params && !(c->params = calloc(1, size + 1))) ||
        !add_ints(&c->after, &c->nafter, w->after, w->nafter)) {
      graph_free(e);
      return CUDA_OUT_OF_MEMORY;
    }
    if (size) memcpy(c->params, w->params, size);
  }
  *exec = e;
  return CUDA_SUCCESS;
}
CALL(cuGraphGetNodes, (CUgraph graph, void **nodes, size_t *count), (graph, nodes, count)) {
  if (!graph || nodes) return CUDA_INVALID_VALUE; /* only how many there are */
  *count = (size_t)graph->count;
  return CUDA_SUCCESS;
}
CALL(cuGraphDestroy, (CUgraph graph), (graph)) {
  if (!graph) return CUDA_INVALID_HANDLE;
  graph_free(graph);
  return CUDA_SUCCESS;
}
CALL(cuGraphExecDestroy, (CUgraphExec exec), (exec)) {
  if (!exec) return CUDA_INVALID_HANDLE;
  graph_free(exec);
  return CUDA_SUCCESS;
}

static bool ready(const struct Graph *g, const bool *done, int i) {
  if (done[i]) return false;
  for (int a = 0; a < g->nodes[i].nafter; a++)
    if (!done[g->nodes[i].after[a]]) return false;
  return true;
}

static CUresult run_graph(const struct Graph *g) {
  unsigned order = driver()->order;
  uint64_t seed = order * 0x9E3779B97F4A7C15u | 1;
  bool *done = calloc((size_t)g->count + 1, sizeof *done);
  CUresult r = done ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
  for (int n = 0; n < g->count && !r; n++) {
    int pick = 0;
    if (order) { /* 1: the last one that can run; else from a random place on */
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      int from = order == 1 ? g->count - 1 : (int)((seed >> 33) % (unsigned)g->count);
      for (int i = 0; i < g->count; i++) {
        pick = (from - i + g->count) % g->count;
        if (ready(g, done, pick)) break;
      }
    } else {
      pick = n; /* as captured, which the edges allow */
    }
    r = work_run(&g->nodes[pick]);
    done[pick] = true;
  }
  free(done);
  return r;
}

CALL(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, stream)) {
  if (!exec) return CUDA_INVALID_HANDLE;
  return stream && stream->capture ? CUDA_STREAM_CAPTURE_UNSUPPORTED : run_graph(exec);
}
CALL(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, stream)) {
  return exec ? CUDA_SUCCESS : CUDA_INVALID_HANDLE;
}
