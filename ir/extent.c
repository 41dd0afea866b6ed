/* Extents, which are known when a program runs, their products, and the dims that they make.
   Contract: interned in the context; the factors of a product stand in the order of their indices.
   A part of a part is one of the whole, so that equal elements have one extent.
   The code of a bounded axis is -((index + 1) << 32) - multiple, in the place of a dim. */
#include "ir.h"
#include "ir/support/ctx_impl.h"
#include "ir/support/hash.h"

enum { EXTENT_SHIFT = 32 };

static bool extent_equal(const void *entry, const void *key) {
  const Extent *x = entry, *k = key;
  bool same = x->name == k->name && x->bound == k->bound && x->nfactors == k->nfactors;
  same &= x->whole == k->whole && x->first == k->first;
  for (int i = 0; same && k->factor && i < k->nfactors; i++) same = x->factor[i] == k->factor[i];
  return same;
}

/* key: without factors it is an extent of its own. */
static const Extent *extent_of_key(Ctx *c, const Extent *key) {
  uint64_t hash = hash_word((uint64_t)(uintptr_t)key->name, (uint64_t)key->bound);
  int index = (int)c->extents.entries.n;
  void **entry = intern_entry(c, &c->extents, hash, extent_equal, key);
  if (!*entry) {
    Extent *x = ARENA_NEW(c->arena, Extent);
    const Extent **factor = ARENA_ARRAY(c->arena, const Extent *, key->nfactors);
    for (int i = 0; i < key->nfactors; i++) factor[i] = key->factor ? key->factor[i] : x;
    *x = (Extent){key->name, key->bound, index, key->nfactors, factor, key->whole, key->first};
    *entry = x;
  }
  return *entry;
}

const Extent *extent_get(Ctx *c, const char *name, int64_t bound) {
  return extent_of_key(c, &(Extent){.name = intern(c, name), .bound = bound, .nfactors = 1});
}

static const Extent *extent_of_factors(Ctx *c, const Extent *const *factor, int n) {
  if (n == 1) return factor[0];
  Extent key = {.name = factor[0]->name, .bound = factor[0]->bound, .nfactors = n};
  for (int i = 1; i < n; i++) {
    key.name = intern_printf(c, "%s * %s", key.name, factor[i]->name);
    key.bound *= factor[i]->bound;
    if (key.bound > INT32_MAX) return NULL;
  }
  key.factor = factor;
  return extent_of_key(c, &key);
}

const Extent *extent_product(Ctx *c, const Extent *x, const Extent *y) {
  const Extent *all[EXTENT_FACTORS];
  if (x->nfactors + y->nfactors > EXTENT_FACTORS) return NULL;
  for (int i = 0, k = 0; i + k < x->nfactors + y->nfactors;) {
    bool left = k == y->nfactors || (i < x->nfactors && x->factor[i]->index <= y->factor[k]->index);
    all[i + k] = left ? x->factor[i] : y->factor[k];
    left ? i++ : k++;
  }
  return extent_of_factors(c, all, x->nfactors + y->nfactors);
}

const Extent *extent_quotient(Ctx *c, const Extent *x, const Extent *y) {
  const Extent *all[EXTENT_FACTORS];
  int n = 0, k = 0;
  for (int i = 0; i < x->nfactors; i++) {
    if (k < y->nfactors && x->factor[i] == y->factor[k])
      k++;
    else
      all[n++] = x->factor[i];
  }
  return n && k == y->nfactors ? extent_of_factors(c, all, n) : NULL;
}

int64_t axis_of_extent(const Extent *x, int64_t multiple) {
  return -(((int64_t)(x->index + 1) << EXTENT_SHIFT) + multiple);
}

int64_t axis_multiple(int64_t axis) { return -axis & (int64_t)UINT32_MAX; }

const Extent *axis_extent(Ctx *c, int64_t axis) {
  if (!axis_is_bounded(axis)) return NULL;
  return c->extents.entries.at[(-axis >> EXTENT_SHIFT) - 1];
}

/* ---- parts ---- */

static const Extent *extent_part(Ctx *c, int64_t axis, int64_t first, int64_t n) {
  const Extent *x = axis_extent(c, axis);
  if (x->whole) {
    first += axis_multiple(axis) * x->first;
    axis = axis_product(c, axis_multiple(axis), x->whole);
  }
  if (!axis || n < 2 || n > INT32_MAX) return NULL;
  const char *whole = type_str(c, type_get(c, DT_F32, 1, &axis));
  Extent key = {.bound = n, .nfactors = 1, .whole = axis, .first = first};
  key.name = intern_printf(c, "(%.*s)[%lld:%lld]", (int)strlen(whole) - 5, whole + 4,
                           (long long)first, (long long)(first + n));
  return extent_of_key(c, &key);
}

int64_t axis_part(Ctx *c, int64_t axis, int64_t first, int64_t n) {
  const Extent *x = axis_extent(c, axis);
  int64_t k = axis_multiple(axis);
  if (n == k * x->bound && first == 0) return axis;
  bool even = n % k == 0 && first % k == 0 && n / k >= 2;
  const Extent *part = even ? extent_part(c, axis_of_extent(x, 1), first / k, n / k)
                            : extent_part(c, axis, first, n);
  return part ? axis_of_extent(part, even ? k : 1) : 0;
}

/* The fewest elements that a run has. */
static int64_t least(Ctx *c, int64_t axis) {
  const Extent *x = axis_extent(c, axis);
  int64_t n = 1;
  for (int i = 0; x && i < x->nfactors; i++) {
    const Extent *f = x->factor[i];
    int64_t left = f->whole ? least(c, f->whole) - f->first : 1;
    n *= left < 0 ? 0 : left < f->bound ? left : f->bound;
  }
  return n * (x ? axis_multiple(axis) : axis);
}

bool axis_may_lack(Ctx *c, int64_t axis, int64_t elements) { return least(c, axis) < elements; }

bool axis_is_more(Ctx *c, int64_t axis, int64_t *of, int64_t *more) {
  const Extent *x = axis_extent(c, axis);
  if (!x || !x->whole) return false;
  int64_t all = axis_multiple(x->whole) * axis_extent(c, x->whole)->bound, k = axis_multiple(axis);
  *of = axis_product(c, k, x->whole);
  *more = -x->first * k;
  return *of && x->first + x->bound == all;
}

int64_t axis_and_more(Ctx *c, int64_t axis, int64_t more) {
  const Extent *x = axis_extent(c, axis);
  int64_t of = axis, has = 0;
  if (more == 0 || !x) return axis + more > 0 || more == 0 ? axis + more : 0;
  for (int i = 0; x->nfactors > 1 && i < x->nfactors; i++)
    if (x->factor[i]->whole) return 0;
  /* of a part that none may be there of there is none less */
  if (more > 0 && x->whole && axis_may_lack(c, x->whole, x->first)) return 0;
  if (axis_is_more(c, axis, &of, &has)) more += has;
  if (more == 0) return of;
  int64_t n = axis_multiple(of) * axis_extent(c, of)->bound;
  return more < -n || more > INT32_MAX ? 0 : axis_part(c, of, -more, n + more);
}

bool axis_is_of_input(Ctx *c, int64_t axis) {
  int64_t of = axis, more = 0;
  if (axis_extent(c, axis)->whole && !axis_is_more(c, axis, &of, &more)) return false;
  const Extent *x = axis_extent(c, of);
  return more >= 0 && x->nfactors == 1 && !x->whole;
}

int64_t axis_joined(Ctx *c, const int64_t *axis, int n) {
  const Extent *all = NULL;
  int64_t times = 0, more = 0;
  bool equal = true;
  for (int i = 0; i < n; i++) equal &= axis_extent(c, axis[i]) == axis_extent(c, axis[0]);
  for (int i = 0; i < n; i++) {
    int64_t of = axis[i], has = 0;
    if (!equal && axis_is_bounded(of) && axis_extent(c, of)->whole &&
        (!axis_is_more(c, axis[i], &of, &has) || axis_may_lack(c, of, -has)))
      return 0;
    const Extent *x = axis_extent(c, of);
    more += x ? has : of;
    if (x && all && x != all) return 0;
    if (x) all = x, times += axis_multiple(of);
    if (times > INT32_MAX || more > INT32_MAX) return 0;
  }
  const int64_t sum = all ? axis_of_extent(all, times) : more;
  return all && more ? axis_and_more(c, sum, more) : sum;
}

bool axis_is_part(Ctx *c, int64_t axis, int64_t part, int64_t *first) {
  const Extent *x = axis_extent(c, axis), *p = axis_extent(c, part);
  *first = 0;
  if (!x || !p) return false;
  if (axis == part) return true;
  int64_t k = axis_multiple(part), n = k * p->bound;
  *first = p->whole ? k * p->first - (x->whole ? axis_multiple(axis) * x->first : 0) : 0;
  return p->whole && *first >= 0 && *first + n <= axis_multiple(axis) * x->bound &&
         axis_part(c, axis, *first, n) == part;
}

/* ---- */

const char *axis_str(Ctx *c, int64_t axis) {
  int64_t of, more;
  if (axis_is_more(c, axis, &of, &more))
    return intern_printf(c, "%s %c %lld", axis_str(c, of), more < 0 ? '-' : '+',
                         (long long)(more < 0 ? -more : more));
  const Extent *x = axis_extent(c, axis);
  int64_t k = x ? axis_multiple(axis) : 0;
  if (!x) return intern_printf(c, "%lld", (long long)axis);
  if (x->nfactors > 1) {
    const char *all = k > 1 ? intern_printf(c, "%lld ", (long long)k) : "";
    for (int i = 0; i < x->nfactors; i++)
      all = intern_printf(c, x->factor[i]->whole ? "%s%s(%s)" : "%s%s%s", all, i ? " * " : "",
                          axis_str(c, axis_of_extent(x->factor[i], 1)));
    return all;
  }
  if (k > 1 && x->nfactors == 1 && x->whole)
    return intern_printf(c, "%lld * (%s)", (long long)k, axis_str(c, axis_of_extent(x, 1)));
  return k == 1 ? x->name : intern_printf(c, "%lld %s", (long long)k, x->name);
}

int64_t axis_product(Ctx *c, int64_t a, int64_t b) {
  const Extent *x = axis_extent(c, a), *y = axis_extent(c, b);
  int64_t n;
  if (__builtin_mul_overflow(x ? axis_multiple(a) : a, y ? axis_multiple(b) : b, &n)) return 0;
  if (!x && !y) return n;
  const Extent *both = x && y ? extent_product(c, x, y) : x ? x : y;
  return both && n > 0 && n <= INT32_MAX ? axis_of_extent(both, n) : 0;
}

int64_t axis_quotient(Ctx *c, int64_t a, int64_t b) {
  const Extent *x = axis_extent(c, a), *y = axis_extent(c, b);
  int64_t n = x ? axis_multiple(a) : a, by = y ? axis_multiple(b) : b;
  if (by == 0 || n % by != 0 || (y && !x)) return 0;
  if (!x || x == y) return n / by;
  const Extent *rest = y ? extent_quotient(c, x, y) : x;
  return rest ? axis_of_extent(rest, n / by) : 0;
}
