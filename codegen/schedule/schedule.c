/* The text of schedules; see schedule.h. */
#include "codegen/schedule/schedule.h"

static const char *field_text(Arena *a, const ScheduleField *f, const void *schedule) {
  const char *at = (const char *)schedule + f->offset;
  switch (f->type) {
  case FIELD_INT: return arena_printf(a, "%d", *(const int *)(const void *)at);
  case FIELD_INT64: return arena_printf(a, "%lld", (long long)*(const int64_t *)(const void *)at);
  case FIELD_BOOL: return *(const bool *)(const void *)at ? "yes" : "no";
  case FIELD_ENUM: return f->names[*(const int *)(const void *)at];
  }
  return "";
}

const char *schedule_text(Arena *a, const ScheduleKind *kind, const void *schedule) {
  const char *text = kind->name;
  for (const ScheduleField *f = kind->fields; f && f->name; f++)
    text = arena_printf(a, "%s %s=%s", text, f->name, field_text(a, f, schedule));
  return text;
}

double units_balance(int64_t units, int threads) {
  int64_t most = ceil_div(units, threads);
  return most ? (double)units / (double)most / threads : 1;
}

int panel_columns(const VectorMachine *m, int64_t n) {
  int64_t lanes = machine_lanes(m, 4), most = m->vectors * lanes, panels = ceil_div(n, most);
  return panels ? (int)(ceil_div(ceil_div(n, panels), lanes) * lanes) : 0;
}

int grid_tile_depth(int most, int64_t rows, int width, int size) {
  enum { SHARED = 17 << 10 }; /* bytes: 128 rows of 32 f32 and one more; five blocks fit 99 KiB */
  int depth = most;
  while (depth > 1 && (depth / 2 >= rows || depth * grid_tile_stride(width) * size > SHARED))
    depth /= 2;
  return depth;
}
